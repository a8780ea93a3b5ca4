// From decoded rows to batches: in the order of the stream, or through the shuffle buffer.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/pages.h"
#include "engine/slab.h"
#include "engine/stream.h"
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

class Filler {
 public:
  enum class Status : uint8_t { full, wait, end };
  virtual ~Filler() = default;

  // Goes on filling. `wait`: for a row that is not decoded yet. `end`: the stream has ended before the batch was full,
  // and its `epoch_rows` are known now. Throws the fault at a row.
  virtual Status fill(Draft& draft, Stream& stream) = 0;

  // From where what follows the batch can be had again, the rows in a buffer included.
  virtual Anchor anchor(const Stream& stream) const = 0;
};

// `whole`: the stream is followed through the other ranks' rows too, since what it holds is found out on the way.
std::unique_ptr<Filler> plain_filler(const SlabShape& shape, Share share, bool whole);

// `stop` is the row at which the stream ends, as far as known; `from` where it begins. Allocates the buffer.
std::unique_ptr<Filler> shuffled_filler(const SlabShape& shape, Share share, ShuffleOrder order, int64_t stop,
                                        Anchor from, bool track);

}  // namespace sexpgpu::dataio
