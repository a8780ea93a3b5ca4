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
  std::vector<double> weights;  // of the sources; empty: the files of all sources follow each other
  bool endless;
  OnBadData on_bad_data;
  int64_t bad_budget;
};

class Core {
 public:
  // The files of each source. `poll` may throw, which ends the opening of files.
  Core(const std::vector<std::vector<FileName>>& sources, const std::vector<Field>& fields, const CoreOptions& options,
       std::shared_ptr<const Store> store, const std::function<void()>& poll);
  ~Core() { stop(); }

  const std::vector<std::shared_ptr<Layout>>& layouts() const { return layouts_; }

  // The rows of an epoch where they are known before it is read, else -1. Of a mix that never ends there are none.
  int64_t rows() const;

  // Whether a position alone tells which rows follow.
  bool seekable() const;
  const SlabShape& shape() const { return slabs_->shape(); }

  // Ends the run under way, if any, and begins one.
  void start(const Begin& begin);
  void stop();
  bool running() const { return engine_ != nullptr; }

  // Like `Engine::next`; a run must be under way.
  Engine::Wait next(std::chrono::milliseconds patience, std::unique_ptr<Lease>& out) {
    return engine_->next(patience, out);
  }

  int64_t ready() const { return engine_ ? engine_->ready() : 0; }
  std::vector<Omission> take_omissions() { return engine_ ? engine_->take_omissions() : std::vector<Omission>{}; }
  int64_t bytes_read() const { return store_->bytes_read(); }

  // What the loader holds at most, in bytes, with one batch in the hands of the caller. docs/loader.md has the sum.
  int64_t memory_bound() const;

 private:
  std::shared_ptr<const Store> store_;
  std::vector<std::shared_ptr<Layout>> layouts_;
  std::shared_ptr<SlabPool> slabs_;
  Settings settings_;
  pid_t pid_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace sexpgpu::dataio
