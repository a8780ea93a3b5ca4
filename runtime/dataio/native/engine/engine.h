// The threads: they decode ahead and fill batches, and wait on a condition when there is nothing to do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/feed.h"
#include "engine/fill.h"
#include "engine/layout.h"
#include "engine/slab.h"

namespace sexpgpu::dataio {

// `end` is where the global order stops, `kEndless` for never; `partial` hands over a last, short batch.
struct Settings {
  static constexpr int64_t kEndless = INT64_MAX;
  Share share;
  int64_t shuffle;
  bool partial;
  int threads;
  int prefetch;
  FeedLimits limits;
};

// One run through the order from a position on. Joins its threads when destroyed.
class Engine {
 public:
  Engine(std::shared_ptr<const Layout> layout, std::shared_ptr<SlabPool> slabs, const Settings& settings, uint64_t key,
         int64_t position, int64_t end);
  ~Engine();

  enum class Wait : uint8_t { ready, finished, timeout };

  // The next batch, waiting for it a bounded time. Throws the fault at which the order ended.
  Wait next(std::chrono::milliseconds patience, std::unique_ptr<Lease>& out);

  // Batches that could be handed over at once.
  int64_t ready();

 private:
  void work();
  bool may_assemble();
  void wake_another();
  void assemble();
  bool begin_draft();
  void publish();
  const Served* row(int64_t row);

  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<SlabPool> slabs_;
  const Settings settings_;
  const int64_t end_;

  // The assembler's own: touched only by the thread that has `assembling_`.
  std::unique_ptr<Filler> filler_;
  std::optional<Draft> draft_;
  std::optional<Served> current_;
  int64_t position_;

  std::mutex mutex_;  // guards all below
  std::condition_variable work_;
  std::condition_variable ready_changed_;
  std::unique_ptr<Feed> feed_;
  std::deque<std::unique_ptr<Lease>> ready_;
  std::optional<Fault> fault_;
  bool ended_ = false;
  bool stop_ = false;
  bool assembling_ = false;
  int64_t awaited_ = -1;  // the row the assembler waits for
  int idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace sexpgpu::dataio
