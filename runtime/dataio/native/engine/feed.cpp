#include "engine/feed.h"

#include <algorithm>
#include <exception>
#include <new>
#include <vector>

namespace sexpgpu::dataio {

// Some records of a run. While `busy`, a thread converts them; `passed` are rows that nobody asks for.
struct Feed::Slot {
  int64_t records = 0;
  Start start;
  bool busy = false;
  bool gone = false;
  int64_t held = 0;
  int64_t passed = 0;
  std::shared_ptr<Piece> piece;
  int64_t rows() const { return piece ? piece->rows : passed; }
};

struct Feed::Run {
  int64_t epoch = 0;
  int file = 0;
  Section section;
  int64_t first = -1;  // of the stream; -1 until known
  int64_t end = -1;    // counted: behind the last row
  int64_t cut = 0;     // records cut out so far
  int64_t taken = 0;   // rows that went to the front and by
  bool advancing = false;
  bool reading = false;
  bool done = false;
  std::shared_ptr<BlockStream> stream;
  std::deque<std::shared_ptr<Slot>> slots;
  std::optional<Fault> fault;  // behind the last slot
  int64_t next_record = 0;     // of the file, behind the slots that went by
  bool dropped = false;
};

Feed::Feed(std::shared_ptr<const Layout> layout, Demand demand, FeedLimits limits, std::function<void()> wake)
    : layout_(std::move(layout)),
      demand_(std::move(demand)),
      ledger_(std::make_shared<Ledger>()),
      limits_(limits),
      wake_(std::move(wake)),
      epoch_rows_(layout_->rows()) {
  asked_ = std::max<int64_t>(demand_->next(0), 0);
}

Feed::Feed(std::shared_ptr<const Layout> layout, const Place& from, int64_t epoch_first, int64_t epoch_rows,
           bool endless, int64_t omitted, std::shared_ptr<Ledger> ledger, FeedLimits limits, std::function<void()> wake)
    : layout_(std::move(layout)),
      ledger_(std::move(ledger)),
      limits_(limits),
      wake_(std::move(wake)),
      asked_(from.row),
      endless_(endless),
      next_(from),
      next_row_(from.row),
      epoch_(from.epoch),
      epoch_first_(epoch_first),
      epoch_rows_(epoch_rows),
      counted_epoch_(ledger_->epoch()),
      omitted_(omitted) {}

Feed::~Feed() = default;

// -- planning ---------------------------------------------------------------------------------------------------------

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

// -- what to do -------------------------------------------------------------------------------------------------------

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

// -- doing it ---------------------------------------------------------------------------------------------------------

namespace {

// Calls `f` and gives what went wrong.
template <typename F>
std::optional<Fault> caught(const FileName& file, F&& f) {
  const std::string& name = file.name;
  try {
    f();
    return std::nullopt;
  } catch (const FaultError& error) {
    return with_manifest(error.fault(), file);
  } catch (const std::bad_alloc&) {
    return Fault{.code = "E-DATA-014", .message = "no memory is left to decode " + quoted(name)};
  } catch (const std::exception& error) {
    return Fault{.code = "E-STORE-004", .message = quoted(name) + " could not be decoded", .notes = {error.what()}};
  }
}

}  // namespace

void Feed::work(const Task& task, std::unique_lock<std::mutex>& lock) {
  if (!task.ahead) return advance(task.run, lock);
  const auto stream = task.run->stream;
  lock.unlock();
  std::shared_ptr<Ahead> unit;
  // What goes wrong is met again by the thread that needs these bytes.
  static_cast<void>(caught(FileName{}, [&] { unit = stream->ahead(); }));
  lock.lock();
  task.run->reading = false;
  if (!unit) return;
  wake_();
  lock.unlock();
  static_cast<void>(caught(FileName{}, [&] { unit->run(); }));
  lock.lock();
}

// Whether any of the next records of a run is asked for: yes, where that cannot be told.
bool Feed::wanted(const Run& run, int64_t records) const {
  if (!demand_) return true;
  const int64_t at = run.first + run.cut;
  const int64_t next = demand_->next(at);
  return next >= 0 && next < at + records;
}

void Feed::advance(const std::shared_ptr<Run>& run, std::unique_lock<std::mutex>& lock) {
  auto stream = run->stream;
  const FileName& name = layout_->files()[run->file].name;
  const int64_t skips = ledger_->skips();
  lock.unlock();
  std::unique_ptr<Job> job;
  std::optional<Fault> fault = caught(name, [&] {
    if (!stream) stream = layout_->reader(run->file)->stream(run->section, limits_.piece_bytes);
    job = stream->advance();
  });
  lock.lock();
  run->advancing = false;
  if (run->dropped || run->fault) return;
  run->stream = stream;
  if (fault || !job) {
    run->fault = std::move(fault);
    run->done = true;
    run->stream.reset();  // the decoder's buffers go as soon as its last row is out
    return;
  }
  auto slot = std::make_shared<Slot>();
  slot->records = job->records;
  slot->start = job->start;
  const bool convert = wanted(*run, job->records);
  run->cut += job->records;
  if (demand_) {
    // What nobody asks for at the end of a run is not decoded.
    const int64_t later = demand_->next(run->first + run->cut);
    if (run->first + run->cut >= run->end || later < 0 || later >= run->end) {
      run->done = true;
      run->stream.reset();
    }
  }
  run->slots.push_back(slot);
  if (!convert) {
    slot->passed = job->records;
    return;
  }
  slot->busy = true;
  slot->held = job->records;
  held_rows_ += slot->held;
  ++queued_;
  wake_();
  lock.unlock();
  auto piece = std::make_shared<Piece>();
  fault = caught(name, [&] { *piece = job->convert(skips); });
  if (fault) *piece = Piece{0, {}, {}, std::move(fault)};
  job.reset();
  lock.lock();
  slot->busy = false;
  slot->piece = std::move(piece);
  if (!slot->gone) {
    held_rows_ += slot->piece->rows - slot->held;
    slot->held = slot->piece->rows;
  }
  if (slot->piece->fault) run->done = true;  // nothing behind it is read
}

// -- in order ---------------------------------------------------------------------------------------------------------

namespace {

// What is wrong with the bytes or the records of a file, as against the machine or the way to it.
bool is_of_the_file(const std::string& code) {
  return (code.starts_with("E-DATA-") && code != "E-DATA-014") || code == "E-STORE-003" || code == "E-STORE-004" ||
         code == "E-STORE-005" || code == "E-STORE-006";
}

// One record alone: its neighbours are safe.
bool is_of_a_record(const std::string& code) { return code >= "E-DATA-001" && code <= "E-DATA-006"; }

}  // namespace

void Feed::release(const Slot& slot) {
  if (slot.passed > 0) return;
  held_rows_ -= slot.held;
  --queued_;
}

// The front slot goes by. Behind its fault nothing counts.
void Feed::pass_slot(Run& run) {
  const auto slot = run.slots.front();
  run.slots.pop_front();
  run.taken += slot->rows();
  run.next_record = slot->start.record + slot->records;
  release(*slot);
  slot->gone = true;
  if (!slot->piece || !slot->piece->fault) return;
  run.fault = slot->piece->fault;
  run.next_record = slot->start.record + slot->piece->rows + static_cast<int64_t>(slot->piece->skipped.size());
  for (const auto& behind : run.slots) {
    release(*behind);
    behind->gone = true;
  }
  run.slots.clear();
  run.done = true;
}

void Feed::pop_run() {
  Run& run = *runs_.front();
  for (const auto& slot : run.slots) {
    release(*slot);
    slot->gone = true;
  }
  run.dropped = true;
  runs_.pop_front();
}

// A run of a sequence comes to the front.
void Feed::come_forward(Run& run) {
  if (run.epoch != epoch_) {
    end_epoch();
    epoch_ = run.epoch;
    epoch_first_ = next_row_;
  }
  run.first = next_row_;
  run.next_record = run.section.start.record;
}

void Feed::end_epoch() {
  const int64_t rows = next_row_ - epoch_first_;
  if (rows == 0)
    fail({.code = "E-DATA-008",
          .message = "the files hold no rows, from " + quoted(layout_->files().front().name.name) + " on"});
  if (epoch_rows_ >= 0 && epoch_rows_ != rows)
    fail({.code = "E-STORE-007",
          .message = "the files hold " + std::to_string(rows) + " rows and held " + std::to_string(epoch_rows_) +
                     " when they were read before, from " + quoted(layout_->files().front().name.name) + " on",
          .advice = "write new data under a new name"});
  epoch_rows_ = rows;
}

// Whether the rest of the front run's file is left out for its fault.
bool Feed::leave_out(Run& run) {
  const std::string& code = run.fault->code;
  if (ledger_->policy() == OnBadData::skip_record && is_of_a_record(code)) ledger_->over(*run.fault);
  if (ledger_->policy() != OnBadData::skip_file || !is_of_the_file(code)) return false;
  if (run.epoch == counted_epoch_) {
    ledger_->add({layout_->files()[run.file].name.name, run.next_record, true, *run.fault});
    ++omitted_;
  }
  dropped_ = {run.epoch, run.file};
  if (next_.epoch == run.epoch && next_.file == run.file) next_ = {0, run.epoch, run.file + 1, {0, 0, 0}};
  return true;
}

Feed::Found Feed::settle(int64_t row) {
  asked_ = std::max(asked_, row);
  while (true) {
    if (runs_.empty()) {
      if (demand_ || endless_ || next_.file < static_cast<int>(layout_->files().size())) return Found::wait;
      end_epoch();
      return Found::end;
    }
    Run& run = *runs_.front();
    if (run.first < 0) come_forward(run);
    const bool left_out = dropped_ && *dropped_ == std::pair(run.epoch, run.file);
    if (!left_out && !run.slots.empty()) {
      const Slot& slot = *run.slots.front();
      if (slot.busy) return Found::wait;
      if (slot.piece && row < run.first + run.taken + slot.rows()) return Found::piece;
      if (slot.piece)
        for (const Skipped& skipped : slot.piece->skipped) omit({0, run.epoch, run.file, nullptr, {}}, skipped);
      pass_slot(run);
      continue;
    }
    if (!left_out) {
      if (run.advancing || !run.done) return Found::wait;
      if (run.fault && !(demand_ && row >= run.end) && !leave_out(run)) return Found::fault;
    }
    next_row_ = run.first + run.taken;
    pop_run();
  }
}

std::optional<Place> Feed::place_of(const Run& run, const Slot& slot) const {
  const FileEntry& entry = layout_->files()[run.file];
  if (entry.counted) {
    const auto& starts = entry.block_start;
    if (!std::binary_search(starts.begin(), starts.end(), slot.start.record)) return std::nullopt;
  } else if (slot.start.offset < 0) {
    return std::nullopt;
  }
  return Place{run.first + run.taken, run.epoch, run.file, slot.start};
}

Served Feed::take() {
  Run& run = *runs_.front();
  if (run.slots.empty()) fail(*run.fault);
  const Slot& slot = *run.slots.front();
  Served served{run.first + run.taken, run.epoch, run.file, slot.piece, std::nullopt};
  if (!demand_) served.place = place_of(run, slot);
  pass_slot(run);
  return served;
}

void Feed::omit(const Served& served, const Skipped& skipped) {
  if (served.epoch != counted_epoch_) return;
  ledger_->add({layout_->files()[served.file].name.name, skipped.record, false, skipped.fault});
  ++omitted_;
}

}  // namespace sexpgpu::dataio
