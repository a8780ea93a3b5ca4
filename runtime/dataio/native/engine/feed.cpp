#include "engine/feed.h"

#include <algorithm>
#include <exception>
#include <new>
#include <vector>

namespace sexpgpu::dataio {

// `at` is the stream's row of the next piece. While `busy`, everything but `at` belongs to the job.
struct Feed::Run {
  int file;
  std::vector<int> blocks;
  int64_t at;
  int64_t end;
  bool busy = false;
  bool done = false;
  std::unique_ptr<BlockStream> stream;
  std::optional<Served> fresh;
  std::deque<Served> pieces;
  std::optional<Fault> fault;  // at row `at`
  int64_t next_at = 0;
};

Feed::Feed(std::shared_ptr<const Layout> layout, Demand demand, FeedLimits limits)
    : layout_(std::move(layout)), demand_(std::move(demand)), limits_(limits) {
  asked_ = std::max<int64_t>(demand_.next(0), 0);
}

Feed::~Feed() = default;

// Appends the next run: from the block that holds the next wanted row, as long as blocks are small and wanted.
bool Feed::plan() {
  if (!may_plan()) return false;
  const int64_t wanted = demand_.next(planned_);
  const int64_t epoch_start = wanted / layout_->rows() * layout_->rows();
  const int file = layout_->file_of(wanted - epoch_start);
  const FileEntry& entry = layout_->files()[file];
  const int64_t file_start = epoch_start + layout_->file_start(file);
  const auto& starts = entry.block_start;
  size_t block = std::upper_bound(starts.begin(), starts.end(), wanted - file_start) - starts.begin() - 1;

  auto run = std::make_unique<Run>();
  run->file = file;
  run->at = run->end = file_start + starts[block];
  int64_t rows = 0;
  int64_t bytes = 0;
  for (; block < entry.blocks.size(); ++block) {
    const Block& next = entry.blocks[block];
    if (next.rows == 0) continue;
    rows += next.rows;
    bytes += next.bytes;
    if (!run->blocks.empty()) {
      const bool small = std::max(rows * layout_->row_bytes(), bytes) <= limits_.run_bytes;
      const int64_t ahead = demand_.next(run->end);
      if (!small || ahead < 0 || ahead >= run->end + next.rows) break;
    }
    run->blocks.push_back(static_cast<int>(block));
    run->end += next.rows;
  }
  planned_ = run->end;
  runs_.push_back(std::move(run));
  return true;
}

bool Feed::may_plan() const {
  const int64_t wanted = demand_.next(planned_);
  if (wanted < 0 || wanted >= asked_ + limits_.lookahead_rows) return false;
  return runs_.empty() || queued_ < limits_.pieces;
}

bool Feed::may_start(const Run& run) const {
  if (run.busy || run.done || run.at >= asked_ + limits_.lookahead_rows) return false;
  const bool awaited = &run == runs_.front().get() && run.pieces.empty();
  return awaited || queued_ < limits_.pieces;
}

Feed::Run* Feed::pick() {
  int open = 0;
  for (auto& run : runs_) {
    if (may_start(*run)) return begin(*run);
    open += !run->done;
  }
  if (open >= limits_.open_runs || !plan()) return nullptr;
  return begin(*runs_.back());
}

Feed::Run* Feed::begin(Run& run) {
  run.busy = true;
  ++queued_;
  return &run;
}

bool Feed::has_work() {
  int open = 0;
  for (const auto& run : runs_) {
    if (may_start(*run)) return true;
    open += !run->done;
  }
  return open < limits_.open_runs && may_plan();
}

void Feed::decode(Run& run) const {
  run.next_at = run.at;
  try {
    if (!run.stream) run.stream = layout_->reader(run.file)->stream(run.blocks, limits_.piece_bytes);
    const int64_t rows = run.stream->advance();
    const int64_t wanted = demand_.next(run.at);
    if (wanted >= 0 && wanted < run.at + rows) {
      auto piece = std::make_shared<Piece>(run.stream->convert());
      run.fault = piece->fault;
      run.next_at = run.at + piece->rows;
      run.fresh = Served{run.at, std::move(piece)};
    } else {
      run.next_at = run.at + rows;
    }
    // What nobody asks for at the end of a run is not decoded.
    if (const int64_t later = demand_.next(run.next_at); !run.fault && (later < 0 || later >= run.end))
      run.next_at = run.end;
  } catch (const FaultError& error) {
    run.fault = error.fault();
  } catch (const std::bad_alloc&) {
    run.fault = Fault{.code = "E-DATA-014",
                      .message = "no memory is left to decode " + quoted(layout_->files()[run.file].name.name)};
  } catch (const std::exception& error) {
    run.fault = Fault{.code = "E-STORE-004",
                      .message = quoted(layout_->files()[run.file].name.name) + " could not be decoded",
                      .notes = {error.what()}};
  }
  // The decoder's buffers go as soon as its last row is out.
  if (run.fault || run.next_at == run.end) run.stream.reset();
}

void Feed::finish(Run& run) {
  run.busy = false;
  run.at = run.next_at;
  run.done = run.fault || run.at == run.end;
  if (run.fresh && run.fresh->piece->rows > 0 && run.fresh->end() > asked_)
    run.pieces.push_back(std::move(*run.fresh));
  else
    --queued_;
  run.fresh.reset();
}

void Feed::drop_before(int64_t row) {
  asked_ = std::max(asked_, row);
  while (!runs_.empty()) {
    Run& run = *runs_.front();
    for (; !run.pieces.empty() && run.pieces.front().end() <= row; --queued_) run.pieces.pop_front();
    if (run.end > row || run.busy) return;
    runs_.pop_front();
  }
}

bool Feed::can_take(int64_t row) {
  drop_before(row);
  if (runs_.empty()) return false;
  const Run& run = *runs_.front();
  if (!run.pieces.empty()) return run.pieces.front().first <= row;
  return !run.busy && run.fault && row >= run.at;
}

std::optional<Served> Feed::take(int64_t row) {
  if (!can_take(row)) return std::nullopt;
  Run& run = *runs_.front();
  if (run.pieces.empty()) fail(*run.fault);
  Served served = std::move(run.pieces.front());
  run.pieces.pop_front();
  --queued_;
  return served;
}

}  // namespace sexpgpu::dataio
