#include "order/shuffle.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "order/random.h"

namespace sexpgpu::dataio {

ShuffleOrder::ShuffleOrder(uint64_t key, int64_t rows, int64_t buffer, int64_t epoch, int64_t position, int64_t base,
                           bool endless)
    : key_(key),
      rows_(rows < 0 ? kUnknown : rows),
      slots_(std::min(buffer, rows_)),
      steady_(rows_ - slots_),
      endless_(endless),
      epoch_(epoch),
      base_(base),
      at_(position) {
  rebuild(at_);
}

bool ShuffleOrder::set_rows(int64_t rows) {
  if (at_ > 0 && at_ + slots_ > rows) return false;
  rows_ = rows;
  if (rows < slots_) {
    // Nothing was drawn yet: the buffer is not even full.
    slots_ = rows;
    residents_ = rows;
  }
  steady_ = rows_ - slots_;
  return true;
}

// The rows (of this epoch) in the buffer's places after `drawn` draws, none of them from the emptying end.
std::vector<int64_t> ShuffleOrder::contents(int64_t drawn) const {
  std::vector<int64_t> rows(slots_, -1);
  int64_t unknown = slots_;
  for (int64_t at = drawn - 1; at >= 0 && unknown > 0; --at) {
    int64_t& row = rows[draw(key_, epoch_, at, slots_)];
    if (row >= 0) continue;
    row = slots_ + at;
    --unknown;
  }
  for (int64_t place = 0; place < slots_; ++place)
    if (rows[place] < 0) rows[place] = place;
  return rows;
}

void ShuffleOrder::rebuild(int64_t at) {
  residents_ = slots_;
  if (at == 0) return;
  at_ = std::min(at, steady_);
  std::vector<int64_t> row_of = contents(at_);
  for (int64_t coming = rows_; at_ < at; ++coming) row_of[next_slot()] = endless_ ? coming : -1;
  listed_.reserve(slots_);
  for (int64_t slot = 0; slot < slots_; ++slot)
    if (row_of[slot] >= 0) listed_.push_back({base_ + row_of[slot], slot});
  std::sort(listed_.begin(), listed_.end(), [](const auto& a, const auto& b) { return a.row < b.row; });
  residents_ = static_cast<int64_t>(listed_.size());
}

int64_t ShuffleOrder::next_row() const { return base_ + at_ + slots_; }

ShuffleOrder::Rows ShuffleOrder::rows() const {
  if (at_ == 0) return {{}, base_};
  Rows rows{{}, next_row()};
  rows.listed.reserve(listed_.size());
  for (const Resident& resident : listed_) rows.listed.push_back(resident.row);
  return rows;
}

int64_t ShuffleOrder::next_slot() {
  if (places_.empty()) {
    places_.resize(slots_);
    std::iota(places_.begin(), places_.end(), 0);
  }
  const int64_t place = draw(key_, epoch_, at_, bound(at_));
  const int64_t slot = places_[place];
  if (at_ >= steady_) std::swap(places_[place], places_[bound(at_) - 1]);
  if (++at_ == rows_) {
    ++epoch_;
    base_ += rows_;
    at_ = 0;
    std::reverse(places_.begin(), places_.end());
  }
  return slot;
}

}  // namespace sexpgpu::dataio
