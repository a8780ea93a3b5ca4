// What to do with bad data, and the count of what was left out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fault.h"

namespace sexpgpu::dataio {

enum class OnBadData : uint8_t { error, skip_record, skip_file };

// A record that was left out, or with `rest` everything of a file from that record on.
struct Omission {
  std::string file;
  int64_t record;
  bool rest;
  Fault reason;
};

// Of all sources of one loader, in the order in which they are met. Guarded by the engine's lock. Only one epoch
// counts: later ones meet the same records again.
class Ledger {
 public:
  Ledger() = default;

  // `count` omissions came before the place at which reading begins, and `listed` were told before.
  Ledger(OnBadData policy, int64_t budget, int64_t epoch, int64_t count, int64_t listed)
      : policy_(policy), budget_(budget), epoch_(epoch), count_(count), listed_(listed) {}

  OnBadData policy() const { return policy_; }
  int64_t count() const { return std::max(count_, listed_); }

  // The epoch whose omissions count.
  int64_t epoch() const { return epoch_; }

  // How many bad records one piece may leave out.
  int64_t skips() const { return policy_ == OnBadData::skip_record ? budget_ : 0; }

  // Throws E-DATA-017 when the budget is used up.
  void add(Omission omission) {
    if (count_ >= budget_) over(omission.reason);
    if (++count_ > listed_) fresh_.push_back(std::move(omission));
  }

  [[noreturn]] void over(const Fault& reason) const {
    fail({.code = "E-DATA-017",
          .message = std::to_string(count_) + (policy_ == OnBadData::skip_file ? " files" : " records") +
                     " were left out, and the budget allows no more",
          .notes = {"the next: " + reason.message},
          .advice = "repair the data, or raise `--bad-budget`"});
  }

  // Omissions that were not told yet.
  std::vector<Omission> take() { return std::exchange(fresh_, {}); }

 private:
  OnBadData policy_ = OnBadData::error;
  int64_t budget_ = 0;
  int64_t epoch_ = 0;
  int64_t count_ = 0;
  int64_t listed_ = 0;
  std::vector<Omission> fresh_;
};

}  // namespace sexpgpu::dataio
