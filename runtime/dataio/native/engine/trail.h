// The anchors that lie behind a shuffle buffer: the oldest one that a row in it may need.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "engine/stream.h"

namespace sexpgpu::dataio {

class Trail {
 public:
  explicit Trail(Anchor first) { anchors_.push_back({std::move(first), 0}); }

  // A row, later than all before, was put into the buffer; or one was taken out.
  void add() { ++anchors_.back().rows; }
  void remove(int64_t row) {
    const auto behind = std::upper_bound(anchors_.begin(), anchors_.end(), row,
                                         [](int64_t at, const Step& step) { return at < step.anchor.row; });
    --std::prev(behind)->rows;
    shorten();
  }

  // `anchor` is for the rows that are still to come.
  void push(Anchor anchor) {
    anchors_.push_back({std::move(anchor), 0});
    shorten();
  }

  const Anchor& oldest() const { return anchors_.front().anchor; }
  const Anchor& newest() const { return anchors_.back().anchor; }

 private:
  struct Step {
    Anchor anchor;
    int64_t rows;  // in the buffer, from here to the next anchor
  };

  void shorten() {
    while (anchors_.size() > 1 && anchors_.front().rows == 0) anchors_.pop_front();
  }

  std::deque<Step> anchors_;
};

}  // namespace sexpgpu::dataio
