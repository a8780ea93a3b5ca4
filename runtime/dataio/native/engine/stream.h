// A stage's stream of rows: that of its one source, or several mixed by weight. And how to come back to a place in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/anchor.h"
#include "engine/feed.h"
#include "order/mix.h"

namespace sexpgpu::dataio {

// One row of the stream: row `index` of a piece. `count` rows from there on follow each other in the stream.
struct Row {
  const Piece* piece = nullptr;
  int64_t index = 0;
  int64_t count = 0;
};

class Stream {
 public:
  enum class Found : uint8_t { row, wait, end };

  struct Options {
    std::vector<double> weights;  // one a source; empty for a single one without
    bool endless;
    int64_t base;        // the stream's row at which the first epoch begins
    int64_t epoch_rows;  // -1 while unknown, and of a mix that goes on for ever
    FeedLimits limits;
    std::function<void()> wake;
  };

  // Of counted layouts. `demand` is that of a single source; mixed sources go on from `anchor`.
  Stream(std::vector<std::shared_ptr<const Layout>> layouts, std::optional<Demand> demand, const Anchor& anchor,
         Options options, std::mutex& mutex);

  // Of sequences, which go on from `anchor`.
  Stream(std::vector<std::shared_ptr<const Layout>> layouts, const Anchor& anchor, std::shared_ptr<Ledger> ledger,
         Options options, std::mutex& mutex);

  // The assembler's own: rows are asked for in ascending order. Throws the fault that stands at a row.
  Found at(int64_t row, Row& out);

  // The rows of an epoch, -1 while unknown; of a mix that goes on for ever there are no epochs.
  int64_t epoch_rows() const { return epoch_rows_; }

  // Changes when a row comes from another piece than the row before it.
  int64_t piece_number() const { return pieces_; }

  // For the rows behind the one that was asked for last.
  Anchor anchor() const;

  // With the lock held:
  bool ready();  // whether `at` would not wait again
  Feed::Task pick(Feed*& feed);
  bool has_work();

 private:
  struct Source {
    std::unique_ptr<Feed> feed;
    std::optional<Served> piece;
    size_t next_skip = 0;
    int64_t skip_row = INT64_MAX;  // at which the next omission counts
    Place place;
    int64_t omitted = 0;      // before the place
    int64_t epoch_first = 0;  // of the place's epoch
    int64_t end = INT64_MAX;  // counted and finite: its rows
  };

  // All but the feeds.
  Stream(const Anchor& anchor, const Options& options, bool counted, std::mutex& mutex);

  void enter(Source& source);
  void omit(Source& source, int64_t row);
  Found in_source(Source& source, int64_t row, Row& out);
  Found choose(int64_t row);
  FeedLimits share(const FeedLimits& limits, size_t source) const;

  std::vector<Source> sources_;
  std::optional<Mix> mix_;
  bool endless_;
  bool counted_;
  int64_t base_;
  int64_t epoch_rows_;
  std::function<void()> wake_;
  std::mutex& mutex_;
  int64_t row_;            // asked for last
  int chosen_ = 0;         // the source of that row, and the row's number there
  int64_t chosen_row_ = -1;
  int64_t pieces_ = 0;
  int waiting_ = -1;       // the source of which the assembler waits for a row
  int64_t waiting_row_ = 0;
};

}  // namespace sexpgpu::dataio
