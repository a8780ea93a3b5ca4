// One loader, as the Python face holds it: the files, the memory, and the run through the order that is under way.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/engine.h"

namespace sexpgpu::dataio {

struct CoreOptions {
  int64_t batch;
  int64_t world;
  int64_t rank;
  int64_t shuffle;
  bool partial;
  int threads;
  int prefetch;
  int64_t lookahead_bytes;
};

class Core {
 public:
  // `poll` may throw, which ends the opening of files.
  Core(const std::vector<FileName>& files, const std::vector<Field>& fields, const CoreOptions& options,
       const std::function<void()>& poll);
  ~Core() { stop(); }

  const Layout& layout() const { return *layout_; }
  const SlabShape& shape() const { return slabs_->shape(); }

  // Ends the run under way, if any, and begins one at `position` of the order that `key` names, up to `end` (-1:
  // endless).
  void start(uint64_t key, int64_t position, int64_t end);
  void stop();
  bool running() const { return engine_ != nullptr; }

  // Like `Engine::next`; a run must be under way.
  Engine::Wait next(std::chrono::milliseconds patience, std::unique_ptr<Lease>& out) {
    return engine_->next(patience, out);
  }

  int64_t ready() const { return engine_ ? engine_->ready() : 0; }
  int64_t bytes_read() const { return counter_->load(std::memory_order_relaxed); }

  // What the loader holds at most, in bytes, with one batch in the hands of the caller. docs/loader.md has the sum.
  int64_t memory_bound() const;

 private:
  ByteCounter counter_;
  std::shared_ptr<Layout> layout_;
  std::shared_ptr<SlabPool> slabs_;
  Settings settings_;
  pid_t pid_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace sexpgpu::dataio
