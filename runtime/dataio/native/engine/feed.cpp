// A feed's rows in order: what goes by, what is left out, where it ends.
#include "engine/feed.h"

#include <algorithm>

#include "engine/feed_run.h"

namespace sexpgpu::dataio {

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
