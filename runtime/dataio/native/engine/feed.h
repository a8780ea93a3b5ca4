// Decoded rows, in stream order, from jobs that run on any number of threads.
//
// The wanted part of the stream is cut into runs of blocks; each run is decoded piece by piece by one job at a time,
// different runs at once. A job starts only while its rows begin less than `lookahead_rows` after those asked for and
// fewer than `pieces` are, which bounds memory; the piece that is asked for always may, so nothing waits for ever. All
// methods but `decode` are called with the engine's lock held.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "engine/layout.h"
#include "order/demand.h"

namespace sexpgpu::dataio {

struct FeedLimits {
  int64_t piece_bytes;     // decoded, about
  int64_t run_bytes;       // a run of several blocks holds at most this, decoded or in the file
  int64_t lookahead_rows;  // decoded but not yet asked for
  int64_t pieces;          // the same in pieces, each of which costs something however few rows it has
  int open_runs;           // decoders open at once
};

// `first` is the stream's row at which the piece begins.
struct Served {
  int64_t first = 0;
  std::shared_ptr<const Piece> piece;
  int64_t end() const { return first + piece->rows; }
};

class Feed {
 public:
  struct Run;

  Feed(std::shared_ptr<const Layout> layout, Demand demand, FeedLimits limits);
  ~Feed();

  // The run whose next piece should be decoded now, or null; it is the caller's until `finish`.
  Run* pick();

  // Whether `pick` would find something.
  bool has_work();

  // Decodes one piece. Without the lock; keeps what goes wrong for the row at which it does.
  void decode(Run& run) const;

  void finish(Run& run);

  // The piece that holds `row`, once it is decoded; rows before it are not asked for again. Throws the fault that
  // stands at `row`.
  std::optional<Served> take(int64_t row);

  // Whether `take(row)` would return or throw.
  bool can_take(int64_t row);

 private:
  void drop_before(int64_t row);
  bool plan();
  Run* begin(Run& run);
  bool may_plan() const;
  bool may_start(const Run& run) const;

  std::shared_ptr<const Layout> layout_;
  Demand demand_;
  FeedLimits limits_;
  std::deque<std::unique_ptr<Run>> runs_;
  int64_t queued_ = 0;   // pieces decoded or being decoded
  int64_t asked_ = 0;    // the first row that may still be asked for
  int64_t planned_ = 0;  // where the next run is looked for
};

}  // namespace sexpgpu::dataio
