// Without a shuffle: runs of rows go straight from pieces into the batch.
#include <algorithm>
#include <cstring>

#include "engine/fill.h"

namespace sexpgpu::dataio {
namespace {

class PlainFiller final : public Filler {
 public:
  PlainFiller(const SlabShape& shape, Share share, bool whole) : shape_(shape), share_(share), whole_(whole) {}

  Status fill(Draft& draft, Stream& stream) override {
    while (draft.done < draft.records) {
      const int64_t row = draft.first + share_.offset() + draft.done;
      Row found;
      asked_ = row;
      const Stream::Found answer = stream.at(row, found);
      if (answer == Stream::Found::wait) return Status::wait;
      if (answer == Stream::Found::end) return Status::end;
      const int64_t count = std::min(draft.records - draft.done, found.count);
      for (size_t f = 0; f < shape_.offset.size(); ++f) {
        const int64_t bytes = shape_.row_bytes[f];
        std::memcpy(draft.slab->data() + shape_.offset[f] + draft.done * bytes,
                    found.piece->columns[f].data + found.index * bytes, count * bytes);
      }
      draft.done += count;
    }
    // Every rank looks as far as the last one: only then do all know the same of where the stream ends. What has been
    // looked at before is behind: the end was found there.
    const int64_t last = draft.first + draft.rows - 1;
    if (!whole_ || last < asked_) return Status::full;
    asked_ = last;
    Row unused;
    switch (stream.at(last, unused)) {
      case Stream::Found::wait: return Status::wait;
      case Stream::Found::end: return Status::end;
      default: return Status::full;
    }
  }

  Anchor anchor(const Stream& stream) const override { return stream.anchor(); }

 private:
  const SlabShape& shape_;
  Share share_;
  bool whole_;
  int64_t asked_ = -1;  // of the stream, last
};

}  // namespace

std::unique_ptr<Filler> plain_filler(const SlabShape& shape, Share share, bool whole) {
  return std::make_unique<PlainFiller>(shape, share, whole);
}

}  // namespace sexpgpu::dataio
