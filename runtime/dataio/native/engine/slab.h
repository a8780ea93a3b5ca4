// Slabs: the memory a batch lies in, one page-aligned run of rows for each field, used again and again.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/anchor.h"
#include "engine/pages.h"
#include "field.h"

namespace sexpgpu::dataio {

// `offset[f]` is where field f begins; its `rows` rows follow each other without gaps.
struct SlabShape {
  SlabShape(const std::vector<Field>& fields, int64_t rows);
  std::vector<int64_t> offset;
  std::vector<int64_t> row_bytes;
  int64_t rows;
  int64_t bytes = 0;
};

class SlabPool {
 public:
  SlabPool(SlabShape shape, size_t keep) : shape_(std::move(shape)), keep_(keep), pid_(::getpid()) {}

  const SlabShape& shape() const { return shape_; }

  // A slab that nobody reads; made when all are in use, so a caller that keeps batches is never waited for.
  std::shared_ptr<Pages> acquire();

  // The slab may be filled again. Beyond `keep` slabs its memory goes back to the system instead.
  void give_back(std::shared_ptr<Pages> slab);

 private:
  SlabShape shape_;
  size_t keep_;
  pid_t pid_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Pages>> free_;
};

// Where the order stands after a batch. `rows` of an epoch are -1 while unknown; `omitted` records were left out so
// far; the anchor is there where a position alone does not tell which rows follow.
struct After {
  int64_t epoch = 0;
  int64_t position = 0;
  int64_t rows = -1;
  int64_t omitted = 0;
  std::optional<Anchor> anchor;
};

// A filled slab in the hands of the caller. The memory lives as long as the lease; from `release` on (the end of the
// lease at the latest) the loader may write new rows into it.
class Lease {
 public:
  Lease(std::shared_ptr<SlabPool> pool, std::shared_ptr<Pages> slab, int64_t records, After after)
      : pool_(std::move(pool)), slab_(std::move(slab)), records_(records), after_(std::move(after)) {}
  ~Lease() { release(); }
  Lease(const Lease&) = delete;

  void release() {
    if (!released_.exchange(true)) pool_->give_back(slab_);
  }

  uint8_t* data() const { return slab_->data(); }
  int64_t bytes() const { return pool_->shape().bytes; }
  int64_t records() const { return records_; }
  const After& after() const { return after_; }

 private:
  std::shared_ptr<SlabPool> pool_;
  std::shared_ptr<Pages> slab_;
  int64_t records_;
  After after_;
  std::atomic<bool> released_ = false;
};

}  // namespace sexpgpu::dataio
