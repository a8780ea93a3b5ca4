// Ranges of far files on their way: native threads ask and wait, workers of the Python face fetch.
//
// A worker waits here without the GIL; who waits for bytes never takes it. A fetch owns its bytes, so a worker that
// hangs can be left behind.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "fault.h"

namespace sexpgpu::dataio {

// One range. Constant but for what the worker learns; that may be read once `FetchQueue::await` has returned.
struct Fetch {
  std::string uri;
  std::string name;     // of the file, for messages
  int64_t offset;       // -1: the last `count` bytes of a file whose size is not known yet
  int64_t count;
  int64_t size;         // of the whole file, -1 where it is not known
  std::string version;  // of the file that is wanted, empty for any

  std::unique_ptr<uint8_t[]> bytes{};  // room for `count`, from `take` on
  std::atomic<bool> cancelled = false;

  int64_t found_size = -1;
  std::string found_version{};
  int64_t found_count = 0;
  std::optional<Fault> fault{};
  bool done = false;  // guarded by the queue
};

class FetchQueue {
 public:
  // Asks for a range. An `urgent` one, which somebody waits for, goes before those read ahead.
  std::shared_ptr<Fetch> ask(std::string uri, std::string name, int64_t offset, int64_t count, int64_t size,
                             std::string version, bool urgent);

  // Waits until the fetch is done; throws its fault, and a fault when interrupted.
  void await(const Fetch& fetch);

  // Nobody waits for it, which was read ahead, and nobody will.
  void cancel(Fetch& fetch);

  // For workers: the next fetch, or null when the queue is closed. Waits.
  std::shared_ptr<Fetch> take();
  void finish(Fetch& fetch, int64_t count, int64_t size, std::string version);
  void fail_with(Fetch& fetch, Fault fault);
  void count_bytes(int64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }

  // Cancels everything; what waits and what is asked for until `resume` fails.
  void interrupt();
  void resume();

  // Interrupts for ever and sends the workers home.
  void close();

  int64_t bytes_fetched() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  void settle(Fetch& fetch);

  std::atomic<int64_t> bytes_ = 0;
  std::mutex mutex_;  // guards all below, and `done` of every fetch
  std::condition_variable asked_;
  std::condition_variable settled_;
  std::deque<std::shared_ptr<Fetch>> urgent_;
  std::deque<std::shared_ptr<Fetch>> ahead_;
  std::set<std::shared_ptr<Fetch>> taken_;
  bool interrupted_ = false;
  bool closed_ = false;
};

}  // namespace sexpgpu::dataio
