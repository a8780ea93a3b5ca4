#include "engine/engine.h"

#include <cstring>
#include <new>
#include <system_error>

namespace sexpgpu::dataio {

Engine::Engine(std::shared_ptr<const Layout> layout, std::shared_ptr<SlabPool> slabs, const Settings& settings,
               uint64_t key, int64_t position, int64_t end)
    : layout_(std::move(layout)), slabs_(std::move(slabs)), settings_(settings), end_(end), position_(position) {
  const Share& share = settings_.share;
  const int64_t left = end_ - position_;
  if (left <= 0 || (left < share.stride() && !settings_.partial)) {
    ended_ = true;
    return;
  }
  std::optional<Demand> demand;
  if (settings_.shuffle > 1) {
    ShuffleOrder order(key, layout_->rows(), settings_.shuffle, position_, end_ == Settings::kEndless);
    std::vector<int64_t> residents;
    for (const auto& resident : order.residents()) residents.push_back(resident.row);
    // Every rank holds the whole buffer: which of its rows come out here is known only when they are drawn.
    demand.emplace(std::move(residents), order.next_row(), end_, 1, 0, 1);
    filler_ = shuffled_filler(slabs_->shape(), share, std::move(order), end_);
  } else {
    demand.emplace(std::vector<int64_t>{}, position_, end_, share.stride(), share.offset(), share.batch);
    filler_ = plain_filler(slabs_->shape(), share);
  }
  feed_ = std::make_unique<Feed>(layout_, std::move(*demand), settings_.limits);
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
    } else if (Feed::Run* run = feed_->pick()) {
      wake_another();
      lock.unlock();
      feed_->decode(*run);
      lock.lock();
      feed_->finish(*run);
    } else {
      ++idle_;
      work_.wait(lock);
      --idle_;
    }
  }
}

bool Engine::may_assemble() {
  return !assembling_ && !ended_ && !fault_ && ready_.size() < static_cast<size_t>(settings_.prefetch) &&
         (awaited_ < 0 || feed_->can_take(awaited_));
}

// Called by a thread that has just found work: the next one is woken only for work that is left.
void Engine::wake_another() {
  if (idle_ > 0 && (may_assemble() || feed_->has_work())) work_.notify_one();
}

void Engine::assemble() {
  std::optional<Fault> fault;
  try {
    const RowSource source = [this](int64_t wanted) { return row(wanted); };
    while (draft_ || begin_draft()) {
      const int64_t awaited = filler_->fill(*draft_, source);
      if (awaited >= 0) {
        const std::lock_guard lock(mutex_);
        awaited_ = awaited;
        return;
      }
      publish();
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
    awaited_ = -1;
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

void Engine::publish() {
  const SlabShape& shape = slabs_->shape();
  // The rows a short batch lacks are zero: a slab that was used before holds old ones.
  if (draft_->records < shape.rows)
    for (size_t f = 0; f < shape.offset.size(); ++f)
      std::memset(draft_->slab->data() + shape.offset[f] + draft_->records * shape.row_bytes[f], 0,
                  (shape.rows - draft_->records) * shape.row_bytes[f]);
  position_ += draft_->rows;
  auto lease = std::make_unique<Lease>(slabs_, std::move(draft_->slab), draft_->records, position_);
  draft_.reset();
  const std::lock_guard lock(mutex_);
  ready_.push_back(std::move(lease));
  ready_changed_.notify_one();
}

const Served* Engine::row(int64_t wanted) {
  if (current_ && wanted >= current_->first && wanted < current_->end()) return &*current_;
  current_.reset();
  const std::lock_guard lock(mutex_);
  current_ = feed_->take(wanted);
  wake_another();
  return current_ ? &*current_ : nullptr;
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

}  // namespace sexpgpu::dataio
