// With a shuffle: each drawn row leaves its slot for the batch, and the stream's next row takes the slot.
#include <cstring>
#include <memory>
#include <optional>

#include "engine/fill.h"
#include "engine/trail.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kApart = 256;  // rows between anchors, at least

// Scalars are common, and a call for four bytes costs more than the copy.
inline void copy(uint8_t* to, const uint8_t* from, int64_t bytes) {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); return;
    case 2: std::memcpy(to, from, 2); return;
    case 4: std::memcpy(to, from, 4); return;
    case 8: std::memcpy(to, from, 8); return;
    default: std::memcpy(to, from, bytes);
  }
}

class ShuffledFiller final : public Filler {
 public:
  ShuffledFiller(const SlabShape& shape, Share share, ShuffleOrder order, int64_t stop, Anchor from, bool track)
      : shape_(shape), share_(share), order_(std::move(order)), stop_(stop), slot_bytes_(sum(shape)),
        buffer_(Pages::for_at_most(order_.slots(), slot_bytes_)) {
    if (!track) return;
    trail_.emplace(std::move(from));
    row_in_.reset(new Pages(Pages::for_at_most(order_.slots(), sizeof(int64_t))));
  }

  Status fill(Draft& draft, Stream& stream) override {
    Row found;
    while (restored_ < order_.residents()) {
      const Resident resident = order_.resident(restored_);
      const Status status = come(resident.row, stream, found);
      if (status != Status::full) return status;
      if (restored_ == order_.residents()) break;  // the epoch has turned out to have fewer rows
      store(found, resident.row, resident.slot, stream);
      if (++restored_ == order_.residents()) order_.forget_residents();
    }
    while (draft.done < draft.rows) {
      // The row that comes in must be there before the draw: a draw is never taken back.
      const int64_t incoming = order_.next_row();
      const bool comes = incoming < stop_;
      if (comes) {
        const Status status = come(incoming, stream, found);
        if (status != Status::full) return status;
      }
      const int64_t slot = order_.next_slot();
      const int64_t row = draft.done++ - share_.offset();
      if (row >= 0 && row < share_.batch) emit(slot, *draft.slab, row);
      if (trail_) trail_->remove(row_in()[slot]);
      if (comes) store(found, incoming, slot, stream);
    }
    return Status::full;
  }

  Anchor anchor(const Stream&) const override { return trail_ ? trail_->oldest() : Anchor{}; }

 private:
  // A row of the stream; `full` where it is there. Learns on the way how many rows there are.
  Status come(int64_t row, Stream& stream, Row& found) {
    const Stream::Found answer = stream.at(row, found);
    if (answer == Stream::Found::wait) return Status::wait;
    const bool known = order_.knows_rows();
    const bool good = known || stream.epoch_rows() < 0 || order_.set_rows(stream.epoch_rows());
    if (good && answer == Stream::Found::row) return Status::full;
    if (!good || known)
      fail({.code = "E-DATA-010",
            .message = "the cursor points behind the rows that the files hold, " + std::to_string(stream.epoch_rows()) +
                       " in an epoch"});
    stop_ = row;
    return Status::end;
  }

  int64_t* row_in() { return reinterpret_cast<int64_t*>(row_in_->data()); }

  static int64_t sum(const SlabShape& shape) {
    int64_t bytes = 0;
    for (const int64_t field : shape.row_bytes) bytes += field;
    return bytes;
  }

  void store(const Row& found, int64_t row, int64_t slot, const Stream& stream) {
    uint8_t* to = buffer_.data() + slot * slot_bytes_;
    for (size_t f = 0; f < shape_.row_bytes.size(); ++f) {
      const int64_t bytes = shape_.row_bytes[f];
      copy(to, found.piece->columns[f].data + found.index * bytes, bytes);
      to += bytes;
    }
    if (!trail_) return;
    row_in()[slot] = row;
    trail_->add();
    if (stream.piece_number() == piece_ || row - trail_->newest().row < kApart) return;
    piece_ = stream.piece_number();
    trail_->push(stream.anchor());
  }

  void emit(int64_t slot, const Pages& slab, int64_t row) const {
    const uint8_t* from = buffer_.data() + slot * slot_bytes_;
    for (size_t f = 0; f < shape_.row_bytes.size(); ++f) {
      const int64_t bytes = shape_.row_bytes[f];
      copy(slab.data() + shape_.offset[f] + row * bytes, from, bytes);
      from += bytes;
    }
  }

  const SlabShape& shape_;
  Share share_;
  ShuffleOrder order_;
  int64_t stop_;
  int64_t slot_bytes_;
  Pages buffer_;
  int64_t restored_ = 0;
  std::optional<Trail> trail_;   // where a cursor has to tell places
  std::unique_ptr<Pages> row_in_;  // the stream's row in each slot
  int64_t piece_ = -1;
};

}  // namespace

std::unique_ptr<Filler> shuffled_filler(const SlabShape& shape, Share share, ShuffleOrder order, int64_t stop,
                                        Anchor from, bool track) {
  return std::make_unique<ShuffledFiller>(shape, share, std::move(order), stop, std::move(from), track);
}

}  // namespace sexpgpu::dataio
