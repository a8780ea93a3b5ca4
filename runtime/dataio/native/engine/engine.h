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

#include "engine/fill.h"
#include "engine/layout.h"
#include "engine/ledger.h"
#include "engine/slab.h"
#include "engine/stream.h"

namespace sexpgpu::dataio {

// `partial` hands over a last, short batch. Not `endless`: the order ends with the epoch it begins in.
struct Settings {
  Share share;
  int64_t shuffle;
  bool partial;
  bool endless;
  int threads;
  int prefetch;
  OnBadData on_bad_data;
  int64_t bad_budget;
  std::vector<double> weights;  // one a layout; empty for a single one without
  FeedLimits limits;
};

// Where a run through the order begins. `rows` of an epoch are -1 while unknown. `omitted` records were left out and
// told before, all of them in epoch `counted_epoch`.
struct Begin {
  uint64_t key = 0;
  int64_t epoch = 0;
  int64_t position = 0;
  int64_t rows = -1;
  int64_t omitted = 0;
  int64_t counted_epoch = 0;
  std::optional<Anchor> anchor;
};

// One run through the order. Joins its threads when destroyed.
class Engine {
 public:
  Engine(const std::vector<std::shared_ptr<Layout>>& layouts, std::shared_ptr<SlabPool> slabs, const Settings& settings,
         const Begin& begin);
  ~Engine();

  enum class Wait : uint8_t { ready, finished, timeout };

  // The next batch, waiting for it a bounded time. Throws the fault at which the order ended.
  Wait next(std::chrono::milliseconds patience, std::unique_ptr<Lease>& out);

  // Batches that could be handed over at once.
  int64_t ready();

  // What was left out since the last call.
  std::vector<Omission> take_omissions();

 private:
  void make_stream(const std::vector<std::shared_ptr<Layout>>& layouts, const Begin& begin);
  void find_places(const std::vector<std::shared_ptr<Layout>>& layouts, const Begin& begin, Anchor& anchor);
  void start_threads();
  void work();
  bool may_assemble();
  void wake_another();
  void assemble();
  bool begin_draft();
  bool cut_short();
  void publish();
  After after();

  std::shared_ptr<SlabPool> slabs_;
  const Settings settings_;
  const int64_t epoch_;  // in which the run begins, at row `base_` of the stream
  const bool sequence_;  // an anchor tells which rows follow
  const int64_t base_;
  std::shared_ptr<Ledger> ledger_;

  // The assembler's own: touched only by the thread that has `assembling_`.
  std::unique_ptr<Filler> filler_;
  std::optional<Draft> draft_;
  int64_t position_;  // of the stream
  int64_t end_;       // where it ends, kEndless for never, or as long as that is not known
  bool checked_ = false;

  static constexpr int64_t kEndless = INT64_MAX;

  std::mutex mutex_;  // guards all below
  std::condition_variable work_;
  std::condition_variable ready_changed_;
  std::unique_ptr<Stream> stream_;
  std::deque<std::unique_ptr<Lease>> ready_;
  std::optional<Fault> fault_;
  bool ended_ = false;
  bool stop_ = false;
  bool assembling_ = false;
  int idle_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace sexpgpu::dataio
