// Which source gives the next row of a weighted stage.
//
// R. Tijdeman, "The chairman assignment problem" (1980): of the sources that may go next, the one whose share runs out
// first. At any time each has given its weight's share of the rows to within less than one. A source that has ended
// drops out, and the others share what follows as if they began there.
#pragma once

#include <cstdint>
#include <vector>

namespace sexpgpu::dataio {

class Mix {
 public:
  struct Source {
    double weight;
    bool alive = true;
    int64_t taken = 0;  // rows
    int64_t base = 0;   // of them before `since`
  };

  explicit Mix(const std::vector<double>& weights) {
    for (const double weight : weights) sources_.push_back({weight});
  }

  int64_t row() const { return row_; }
  int64_t since() const { return since_; }
  const std::vector<Source>& sources() const { return sources_; }

  // The source of the next row, -1 when all have ended.
  int next() const {
    double sum = 0;
    int alive = 0;
    for (const Source& source : sources_)
      if (source.alive) {
        sum += source.weight;
        ++alive;
      }
    const double least = alive > 1 ? 1.0 / (2 * alive - 2) : 0;
    int best = -1;
    double deadline = 0;
    int furthest = -1;
    double lag = 0;
    for (size_t s = 0; s < sources_.size(); ++s) {
      const Source& source = sources_[s];
      if (!source.alive) continue;
      const double share = source.weight / sum;
      const double given = static_cast<double>(source.taken - source.base);
      const double behind = share * static_cast<double>(row_ - since_) - given;
      if (furthest < 0 || behind > lag) {
        furthest = static_cast<int>(s);
        lag = behind;
      }
      if (behind + share < least) continue;
      const double due = (1 - least - behind) / share;
      if (best < 0 || due < deadline) {
        best = static_cast<int>(s);
        deadline = due;
      }
    }
    return best < 0 ? furthest : best;
  }

  void take(int source) {
    ++sources_[source].taken;
    ++row_;
  }

  void drop(int source) {
    sources_[source].alive = false;
    since_ = row_;
    for (Source& each : sources_) each.base = each.taken;
  }

  // Goes to a state that was read off before.
  void restore(int64_t row, int64_t since, const std::vector<Source>& sources) {
    row_ = row;
    since_ = since;
    for (size_t s = 0; s < sources_.size(); ++s) {
      const double weight = sources_[s].weight;
      sources_[s] = sources[s];
      sources_[s].weight = weight;
    }
  }

 private:
  int64_t row_ = 0;
  int64_t since_ = 0;
  std::vector<Source> sources_;
};

}  // namespace sexpgpu::dataio
