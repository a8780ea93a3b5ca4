// Which rows of the endless stream (epoch * rows + row) will be asked for, and in what order: ascending.
//
// The feed decodes nothing that is not in demand: after a resume the row groups before the position are skipped, and
// without a shuffle a rank skips the row groups that hold only other ranks' rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sexpgpu::dataio {

class Demand {
 public:
  // First `single` rows (ascending), then from `begin` up to `end` the rows of one rank: those whose distance from
  // `begin`, modulo `stride`, lies in [offset, offset + run).
  Demand(std::vector<int64_t> single, int64_t begin, int64_t end, int64_t stride, int64_t offset, int64_t run)
      : single_(std::move(single)), begin_(begin), end_(end), stride_(stride), offset_(offset), run_(run) {}

  // The first wanted row at or after `from`, or -1.
  int64_t next(int64_t from) const {
    const auto found = std::lower_bound(single_.begin(), single_.end(), from);
    if (found != single_.end()) return *found;
    int64_t row = std::max(from, begin_);
    const int64_t phase = (row - begin_) % stride_;
    if (phase < offset_)
      row += offset_ - phase;
    else if (phase >= offset_ + run_)
      row += stride_ - phase + offset_;
    return row < end_ ? row : -1;
  }

 private:
  std::vector<int64_t> single_;
  int64_t begin_;
  int64_t end_;
  int64_t stride_;
  int64_t offset_;
  int64_t run_;
};

}  // namespace sexpgpu::dataio
