// With a shuffle: each drawn row leaves its slot for the batch, and the stream's next row takes the slot.
#include <cstring>

#include "engine/fill.h"

namespace sexpgpu::dataio {
namespace {

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
  ShuffledFiller(const SlabShape& shape, Share share, ShuffleOrder order, int64_t stop)
      : shape_(shape), share_(share), order_(std::move(order)), stop_(stop), slot_bytes_(sum(shape)),
        buffer_(order_.slots() * slot_bytes_) {}

  int64_t fill(Draft& draft, const RowSource& source) override {
    while (restored_ < order_.residents().size()) {
      const Resident& resident = order_.residents()[restored_];
      const Served* served = source(resident.row);
      if (!served) return resident.row;
      store(*served, resident.row, resident.slot);
      ++restored_;
    }
    while (draft.done < draft.rows) {
      // The row that comes in must be there before the draw: a draw is never taken back.
      const int64_t incoming = order_.next_row();
      const Served* served = nullptr;
      if (incoming < stop_ && !(served = source(incoming))) return incoming;
      const int64_t slot = order_.next_slot();
      const int64_t row = draft.done++ - share_.offset();
      if (row >= 0 && row < share_.batch) emit(slot, *draft.slab, row);
      if (served) store(*served, incoming, slot);
    }
    return -1;
  }

 private:
  static int64_t sum(const SlabShape& shape) {
    int64_t bytes = 0;
    for (const int64_t field : shape.row_bytes) bytes += field;
    return bytes;
  }

  void store(const Served& served, int64_t row, int64_t slot) {
    uint8_t* to = buffer_.data() + slot * slot_bytes_;
    for (size_t f = 0; f < shape_.row_bytes.size(); ++f) {
      const int64_t bytes = shape_.row_bytes[f];
      copy(to, served.piece->columns[f].data + (row - served.first) * bytes, bytes);
      to += bytes;
    }
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
  size_t restored_ = 0;
};

}  // namespace

std::unique_ptr<Filler> shuffled_filler(const SlabShape& shape, Share share, ShuffleOrder order, int64_t stop) {
  return std::make_unique<ShuffledFiller>(shape, share, std::move(order), stop);
}

}  // namespace sexpgpu::dataio
