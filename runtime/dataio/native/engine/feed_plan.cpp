// Which run comes next, and what should be done now.
#include <algorithm>
#include <vector>

#include "engine/feed_run.h"

namespace sexpgpu::dataio {

bool Feed::plan() { return may_plan() && (demand_ ? plan_counted() : plan_sequence()); }

bool Feed::may_plan() const {
  const int64_t runs = static_cast<int64_t>(runs_.size());
  if (runs > 0 && (queued_ >= limits_.pieces || runs >= limits_.pieces)) return false;
  if (!demand_) {
    const bool more = endless_ || next_.file < static_cast<int>(layout_->files().size());
    return more && (runs_.empty() || held_rows_ < limits_.lookahead_rows);
  }
  const int64_t wanted = demand_->next(planned_);
  return wanted >= 0 && wanted < asked_ + limits_.lookahead_rows;
}

// Appends blocks of the run's file from `block` on, as long as they are small and `wanted` says so of their end.
void Feed::gather(Run& run, size_t block, const std::function<bool(int64_t)>& wanted) const {
  const FileEntry& entry = layout_->files()[run.file];
  int64_t rows = 0;
  int64_t bytes = 0;
  for (; block < entry.blocks.size(); ++block) {
    const Block& next = entry.blocks[block];
    if (next.rows == 0) continue;
    rows += next.rows;
    bytes += next.bytes;
    if (!run.section.blocks.empty()) {
      const bool small = std::max(rows * layout_->row_bytes(), bytes) <= limits_.run_bytes;
      if (!small || !wanted(next.rows)) return;
    }
    run.section.blocks.push_back(static_cast<int>(block));
    run.end += next.rows;
  }
}

// The next run: from the block that holds the next wanted row.
bool Feed::plan_counted() {
  const int64_t wanted = demand_->next(planned_);
  auto run = std::make_shared<Run>();
  run->epoch = wanted / layout_->rows();
  const int64_t epoch_start = run->epoch * layout_->rows();
  run->file = layout_->file_of(wanted - epoch_start);
  const int64_t file_start = epoch_start + layout_->file_start(run->file);
  const auto& starts = layout_->files()[run->file].block_start;
  const size_t block = std::upper_bound(starts.begin(), starts.end(), wanted - file_start) - starts.begin() - 1;
  run->first = run->end = file_start + starts[block];
  gather(*run, block, [&](int64_t rows) {
    const int64_t ahead = demand_->next(run->end);
    return ahead >= 0 && ahead < run->end + rows;
  });
  planned_ = run->end;
  runs_.push_back(std::move(run));
  return true;
}

// The next run: blocks of a counted file that follow each other, or what is left of another file.
bool Feed::plan_sequence() {
  const int files = static_cast<int>(layout_->files().size());
  if (next_.file >= files) {
    next_ = {0, next_.epoch + 1, 0, {0, 0, 0}};
  }
  auto run = std::make_shared<Run>();
  run->epoch = next_.epoch;
  run->file = next_.file;
  run->section.start = next_.start;
  const FileEntry& entry = layout_->files()[run->file];
  const Place behind{0, next_.epoch, next_.file + 1, {0, 0, 0}};
  if (!entry.counted) {
    next_ = behind;
  } else {
    const auto& starts = entry.block_start;
    const size_t block = std::lower_bound(starts.begin(), starts.end(), next_.start.record) - starts.begin();
    run->end = 0;
    gather(*run, block, [](int64_t) { return true; });
    const int64_t record = next_.start.record + run->end;
    const bool whole = run->section.blocks.empty() || record >= starts.back();
    next_ = whole ? behind : Place{0, run->epoch, run->file, {-1, record, -1}};
    run->end = -1;
    if (run->section.blocks.empty()) run->done = true;
  }
  runs_.push_back(std::move(run));
  return true;
}

bool Feed::may_start(const Run& run) const {
  if (run.advancing || run.done) return false;
  const bool awaited = &run == runs_.front().get() && run.slots.empty();
  return awaited || (held_rows_ < limits_.lookahead_rows && queued_ < limits_.pieces);
}

Feed::Task Feed::pick() {
  int open = 0;
  for (const auto& run : runs_) {
    if (may_start(*run)) {
      run->advancing = true;
      return {run, false};
    }
    if (run->advancing && run->stream && !run->reading && run->stream->wants_ahead()) {
      run->reading = true;
      return {run, true};
    }
    open += !run->done;
  }
  while (open < limits_.open_runs && plan()) {
    if (runs_.back()->done) continue;
    runs_.back()->advancing = true;
    return {runs_.back(), false};
  }
  return {};
}

bool Feed::has_work() {
  int open = 0;
  for (const auto& run : runs_) {
    if (may_start(*run)) return true;
    if (run->advancing && run->stream && !run->reading && run->stream->wants_ahead()) return true;
    open += !run->done;
  }
  return open < limits_.open_runs && may_plan();
}

}  // namespace sexpgpu::dataio
