// From decoded rows to batches: in the order of the stream, or through the shuffle buffer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/feed.h"
#include "engine/pages.h"
#include "engine/slab.h"
#include "order/shuffle.h"

namespace sexpgpu::dataio {

// Where a rank's rows lie in a global batch: `batch` rows at rank * batch of world * batch.
struct Share {
  int64_t batch;
  int64_t world;
  int64_t rank;
  int64_t stride() const { return batch * world; }
  int64_t offset() const { return batch * rank; }
};

// A batch that is being filled: it begins at row `first` of the global order, which gives it `rows` rows, `records` of
// them this rank's; `done` is the filler's own count.
struct Draft {
  std::shared_ptr<Pages> slab;
  int64_t first = 0;
  int64_t rows = 0;
  int64_t records = 0;
  int64_t done = 0;
};

// The piece that holds a row of the stream, or null when it is not decoded yet. Throws the fault at the row.
using RowSource = std::function<const Served*(int64_t row)>;

class Filler {
 public:
  virtual ~Filler() = default;

  // Goes on filling; -1 when the batch is full, else the row of the stream that has to come first.
  virtual int64_t fill(Draft& draft, const RowSource& source) = 0;
};

std::unique_ptr<Filler> plain_filler(const SlabShape& shape, Share share);

// `stop` is the row at which the stream ends. Allocates the buffer.
std::unique_ptr<Filler> shuffled_filler(const SlabShape& shape, Share share, ShuffleOrder order, int64_t stop);

}  // namespace sexpgpu::dataio
