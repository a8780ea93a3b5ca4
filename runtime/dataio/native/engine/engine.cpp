// The threads of a run: each decodes, or fills the next batch, whatever is to do.
#include "engine/engine.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

namespace sexpgpu::dataio {

void Engine::start_threads() {
  for (int i = 0; i < settings_.threads; ++i) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      if (threads_.empty())
        fail({.code = "E-DATA-014", .message = "no thread could be started", .notes = {error.what()}});
      break;  // fewer threads are slower, and no other difference
    }
  }
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Engine::work() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (may_assemble()) {
      assembling_ = true;
      wake_another();
      lock.unlock();
      assemble();
      lock.lock();
      assembling_ = false;
      continue;
    }
    Feed* feed = nullptr;
    if (const Feed::Task task = fault_ || ended_ ? Feed::Task{} : stream_->pick(feed)) {
      wake_another();
      feed->work(task, lock);
    } else if (!may_assemble()) {  // planning may have passed over files without rows
      ++idle_;
      work_.wait(lock);
      --idle_;
    }
  }
}

bool Engine::may_assemble() {
  return !assembling_ && !ended_ && !fault_ && ready_.size() < static_cast<size_t>(settings_.prefetch) &&
         stream_->ready();
}

// Called by a thread that has just found work: the next one is woken only for work that is left.
void Engine::wake_another() {
  if (idle_ > 0 && (may_assemble() || stream_->has_work())) work_.notify_one();
}

void Engine::assemble() {
  std::optional<Fault> fault;
  try {
    while (draft_ || begin_draft()) {
      const Filler::Status status = filler_->fill(*draft_, *stream_);
      if (status == Filler::Status::wait) return;
      if (!checked_ && settings_.endless && stream_->epoch_rows() >= 0) {
        checked_ = true;
        if (stream_->epoch_rows() < settings_.share.stride())
          fail({.code = "E-DATA-007",
                .message = "a batch has " + std::to_string(settings_.share.stride()) +
                           " rows on all ranks together, and the stage has " + std::to_string(stream_->epoch_rows()),
                .advice = "lower `:batch-size`, or add data"});
      }
      if (status == Filler::Status::end && !cut_short()) return;
      if (status == Filler::Status::full) publish();
    }
    return;
  } catch (const FaultError& error) {
    fault = error.fault();
  } catch (const std::bad_alloc&) {
    fault = Fault{.code = "E-DATA-014", .message = "no memory is left for a batch"};
  }
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
  ready_changed_.notify_all();
}

// The next batch, unless the ring is full or the order has ended.
bool Engine::begin_draft() {
  {
    const std::lock_guard lock(mutex_);
    if (stop_ || ready_.size() >= static_cast<size_t>(settings_.prefetch)) return false;
    const int64_t left = end_ - position_;
    if (left <= 0 || (left < settings_.share.stride() && !settings_.partial)) {
      ended_ = true;
      ready_changed_.notify_all();
      return false;
    }
  }
  const Share& share = settings_.share;
  Draft draft;
  draft.slab = slabs_->acquire();
  draft.first = position_;
  draft.rows = std::min(share.stride(), end_ - position_);
  draft.records = std::clamp<int64_t>(draft.rows - share.offset(), 0, share.batch);
  draft_ = std::move(draft);
  return true;
}

// The stream has turned out to end inside the draft, or before it. Whether there is something left to fill.
bool Engine::cut_short() {
  end_ = base_ + stream_->epoch_rows();
  const Share& share = settings_.share;
  draft_->rows = std::min(share.stride(), end_ - draft_->first);
  draft_->records = std::clamp<int64_t>(draft_->rows - share.offset(), 0, share.batch);
  if (draft_->rows > 0 && (settings_.partial || draft_->rows == share.stride())) return true;
  slabs_->give_back(std::move(draft_->slab));
  draft_.reset();
  const std::lock_guard lock(mutex_);
  ended_ = true;
  ready_changed_.notify_all();
  return false;
}

void Engine::publish() {
  const SlabShape& shape = slabs_->shape();
  // The rows a short batch lacks are zero: a slab that was used before holds old ones.
  if (draft_->records < shape.rows)
    for (size_t f = 0; f < shape.offset.size(); ++f)
      std::memset(draft_->slab->data() + shape.offset[f] + draft_->records * shape.row_bytes[f], 0,
                  (shape.rows - draft_->records) * shape.row_bytes[f]);
  position_ += draft_->rows;
  auto lease = std::make_unique<Lease>(slabs_, std::move(draft_->slab), draft_->records, after());
  draft_.reset();
  const std::lock_guard lock(mutex_);
  ready_.push_back(std::move(lease));
  ready_changed_.notify_one();
}

After Engine::after() {
  After after{epoch_, position_ - base_, stream_->epoch_rows(), 0, std::nullopt};
  if (settings_.endless && after.rows > 0) {
    after.epoch += after.position / after.rows;
    after.position %= after.rows;
  }
  if (ledger_) {
    const std::lock_guard lock(mutex_);
    after.omitted = ledger_->count();
  }
  if (sequence_ || !settings_.weights.empty()) after.anchor = filler_->anchor(*stream_);
  return after;
}

Engine::Wait Engine::next(std::chrono::milliseconds patience, std::unique_ptr<Lease>& out) {
  std::unique_lock lock(mutex_);
  const bool told = ready_changed_.wait_for(lock, patience, [this] { return !ready_.empty() || fault_ || ended_; });
  if (!ready_.empty()) {
    out = std::move(ready_.front());
    ready_.pop_front();
    // Filled up again in one go, when half of the ring is gone: to wake a thread costs as much as to fill a batch.
    const bool low = ready_.size() <= static_cast<size_t>(settings_.prefetch) / 2;
    if (low && idle_ > 0 && may_assemble()) work_.notify_one();
    return Wait::ready;
  }
  if (fault_) fail(*fault_);
  return told ? Wait::finished : Wait::timeout;
}

int64_t Engine::ready() {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(ready_.size());
}

std::vector<Omission> Engine::take_omissions() {
  const std::lock_guard lock(mutex_);
  return ledger_ ? ledger_->take() : std::vector<Omission>{};
}

}  // namespace sexpgpu::dataio
