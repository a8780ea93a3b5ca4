#include "remote/fetch.h"

#include <algorithm>
#include <utility>

namespace sexpgpu::dataio {
namespace {

// Only threads that are being joined see it, and nobody shows what they end with.
[[noreturn]] void fail_interrupted(const Fetch& fetch) {
  fail({.code = "E-STORE-008", .message = "reading " + quoted(fetch.name) + " was interrupted"});
}

}  // namespace

std::shared_ptr<Fetch> FetchQueue::ask(std::string uri, std::string name, int64_t offset, int64_t count, int64_t size,
                                       std::string version, bool urgent) {
  auto fetch = std::make_shared<Fetch>();
  fetch->uri = std::move(uri);
  fetch->name = std::move(name);
  fetch->offset = offset;
  fetch->count = count;
  fetch->size = size;
  fetch->version = std::move(version);
  {
    const std::lock_guard lock(mutex_);
    if (interrupted_) fail_interrupted(*fetch);
    (urgent ? urgent_ : ahead_).push_back(fetch);
  }
  asked_.notify_one();
  return fetch;
}

void FetchQueue::await(const Fetch& fetch) {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return fetch.done || fetch.cancelled || interrupted_; });
  if (!fetch.done) fail_interrupted(fetch);
  if (fetch.fault) fail(*fetch.fault);
}

void FetchQueue::cancel(Fetch& fetch) {
  const std::lock_guard lock(mutex_);
  fetch.cancelled = true;
  std::erase_if(ahead_, [&](const auto& other) { return other.get() == &fetch; });
}

std::shared_ptr<Fetch> FetchQueue::take() {
  std::unique_lock lock(mutex_);
  asked_.wait(lock, [this] { return closed_ || !urgent_.empty() || !ahead_.empty(); });
  if (closed_) return nullptr;
  auto& from = urgent_.empty() ? ahead_ : urgent_;
  auto fetch = std::move(from.front());
  from.pop_front();
  taken_.insert(fetch);
  lock.unlock();
  try {
    fetch->bytes = std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(fetch->count));
  } catch (const std::bad_alloc&) {
    fail_with(*fetch, {.code = "E-DATA-014", .message = "no memory is left to read " + quoted(fetch->name)});
    fetch->cancelled = true;
  }
  return fetch;
}

void FetchQueue::finish(Fetch& fetch, int64_t count, int64_t size, std::string version) {
  const std::lock_guard lock(mutex_);
  fetch.found_count = count;
  fetch.found_size = size;
  fetch.found_version = std::move(version);
  settle(fetch);
}

void FetchQueue::fail_with(Fetch& fetch, Fault fault) {
  const std::lock_guard lock(mutex_);
  fetch.fault = std::move(fault);
  settle(fetch);
}

void FetchQueue::settle(Fetch& fetch) {
  fetch.done = true;
  std::erase_if(taken_, [&](const auto& other) { return other.get() == &fetch; });
  settled_.notify_all();
}

void FetchQueue::interrupt() {
  const std::lock_guard lock(mutex_);
  interrupted_ = true;
  for (const auto& fetch : taken_) fetch->cancelled = true;
  for (const auto& fetch : ahead_) fetch->cancelled = true;
  urgent_.clear();
  ahead_.clear();
  settled_.notify_all();
}

void FetchQueue::resume() {
  const std::lock_guard lock(mutex_);
  interrupted_ = closed_;
}

void FetchQueue::close() {
  interrupt();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  asked_.notify_all();
}

}  // namespace sexpgpu::dataio
