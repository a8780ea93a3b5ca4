// Decoded rows of one source, in stream order, from jobs that run on any number of threads.
//
// The stream is cut into runs: consecutive blocks of a counted file, or all of another. A run's records are cut out by
// one thread at a time, and converted by any; different runs are under way at once. How many rows are decoded but not
// yet asked for is bounded, in rows and in pieces; the piece that is asked for always may be decoded, so nothing waits
// for ever.
//
// A *counted* stream knows where each row lies, and decodes only what is in demand. A *sequence* finds out: its files
// are not counted, or records may be left out. There a run's first row is known when the run before it has ended, and
// the rows of an epoch when the first one has. All methods are called with the engine's lock held.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/anchor.h"
#include "engine/layout.h"
#include "engine/ledger.h"
#include "order/demand.h"

namespace sexpgpu::dataio {

struct FeedLimits {
  int64_t piece_bytes;     // decoded, about
  int64_t run_bytes;       // a run of several blocks holds at most this, decoded or in the file
  int64_t lookahead_rows;  // decoded but not yet asked for
  int64_t pieces;          // the same in pieces, each of which costs something however few rows it has
  int open_runs;           // decoders open at once
};

// `first` is the stream's row at which the piece begins; `place` where a sequence could begin to give it, if anywhere.
struct Served {
  int64_t first = 0;
  int64_t epoch = 0;
  int file = 0;
  std::shared_ptr<const Piece> piece;
  std::optional<Place> place;
  int64_t end() const { return first + piece->rows; }
};

class Feed {
 public:
  struct Run;
  struct Task {
    std::shared_ptr<Run> run;
    bool ahead = false;
    explicit operator bool() const { return run != nullptr; }
  };

  // Counted. `wake` is called when there may be work for another thread.
  Feed(std::shared_ptr<const Layout> layout, Demand demand, FeedLimits limits, std::function<void()> wake);

  // A sequence from `from` on, before which `omitted` records were left out; `epoch_rows` is -1 until an epoch has
  // ended, and `epoch_first` the first row of the epoch of `from`.
  Feed(std::shared_ptr<const Layout> layout, const Place& from, int64_t epoch_first, int64_t epoch_rows, bool endless,
       int64_t omitted, std::shared_ptr<Ledger> ledger, FeedLimits limits, std::function<void()> wake);
  ~Feed();

  // What should be done now, if anything.
  Task pick();

  // Whether `pick` would find something.
  bool has_work();

  // Does it. Gives up the lock meanwhile; keeps what goes wrong for the row at which it does.
  void work(const Task& task, std::unique_lock<std::mutex>& lock);

  enum class Found : uint8_t { wait, piece, end, fault };

  // What there is at `row`; rows before it are not asked for again. Throws E-DATA-017.
  Found settle(int64_t row);

  // What `settle` has found: the piece that holds the row, or the fault, which is thrown.
  Served take();

  // Counts an omission of a piece that was taken, when its turn has come. Throws E-DATA-017.
  void omit(const Served& served, const Skipped& skipped);

  // How many omissions there were.
  int64_t omitted() const { return omitted_; }

  // The rows of an epoch, -1 while unknown. Of a sequence that has ended: up to its end.
  int64_t epoch_rows() const { return epoch_rows_; }

  // Of a sequence: the first row of the epoch that it has come to.
  int64_t epoch_first() const { return epoch_first_; }

 private:
  struct Slot;

  bool plan();
  bool plan_counted();
  bool plan_sequence();
  void gather(Run& run, size_t block, const std::function<bool(int64_t)>& wanted) const;
  bool may_plan() const;
  bool may_start(const Run& run) const;
  void come_forward(Run& run);
  void end_epoch();
  void release(const Slot& slot);
  void pass_slot(Run& run);
  void pop_run();
  bool leave_out(Run& run);
  void advance(const std::shared_ptr<Run>& run, std::unique_lock<std::mutex>& lock);
  bool wanted(const Run& run, int64_t records) const;
  std::optional<Place> place_of(const Run& run, const Slot& slot) const;

  std::shared_ptr<const Layout> layout_;
  std::optional<Demand> demand_;  // of a counted stream
  std::shared_ptr<Ledger> ledger_;
  FeedLimits limits_;
  std::function<void()> wake_;
  std::deque<std::shared_ptr<Run>> runs_;
  int64_t held_rows_ = 0;  // decoded or being decoded
  int64_t queued_ = 0;     // the same in pieces
  int64_t asked_ = 0;      // the first row that may still be asked for
  int64_t planned_ = 0;    // counted: where the next run is looked for

  // Of a sequence:
  bool endless_ = false;
  Place next_;                   // where the next run begins; its row is not used
  int64_t next_row_ = 0;         // the first row of the run that comes to the front
  int64_t epoch_ = 0;            // of the front
  int64_t epoch_first_ = 0;      // its first row
  int64_t epoch_rows_ = -1;
  int64_t counted_epoch_ = 0;    // omissions of other epochs were counted before
  int64_t omitted_ = 0;
  std::optional<std::pair<int64_t, int>> dropped_;  // epoch and file of which the rest is left out
};

}  // namespace sexpgpu::dataio
