// Without a shuffle: runs of rows go straight from pieces into the batch.
#include <algorithm>
#include <cstring>

#include "engine/fill.h"

namespace sexpgpu::dataio {
namespace {

class PlainFiller final : public Filler {
 public:
  PlainFiller(const SlabShape& shape, Share share) : shape_(shape), share_(share) {}

  int64_t fill(Draft& draft, const RowSource& source) override {
    while (draft.done < draft.records) {
      const int64_t row = draft.first + share_.offset() + draft.done;
      const Served* served = source(row);
      if (!served) return row;
      const int64_t count = std::min(draft.records - draft.done, served->end() - row);
      for (size_t f = 0; f < shape_.offset.size(); ++f) {
        const int64_t bytes = shape_.row_bytes[f];
        std::memcpy(draft.slab->data() + shape_.offset[f] + draft.done * bytes,
                    served->piece->columns[f].data + (row - served->first) * bytes, count * bytes);
      }
      draft.done += count;
    }
    return -1;
  }

 private:
  const SlabShape& shape_;
  Share share_;
};

}  // namespace

std::unique_ptr<Filler> plain_filler(const SlabShape& shape, Share share) {
  return std::make_unique<PlainFiller>(shape, share);
}

}  // namespace sexpgpu::dataio
