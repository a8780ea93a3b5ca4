// Far files under ThreadSanitizer: readers and workers that race, fail, are interrupted and begin again.
//
//   g++ -std=c++20 -fsanitize=thread -g -O1 -I runtime/dataio/native tests/native/fetches.cpp
//       runtime/dataio/native/remote/fetch.cpp runtime/dataio/native/remote/remote_file.cpp -o fetches && ./fetches 5
//
// Every byte that arrives is checked; nothing may wait for ever, and every worker goes home.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "remote/fetch.h"
#include "remote/remote_file.h"

using namespace sexpgpu::dataio;

namespace {

constexpr int64_t kSize = (int64_t{18} << 20) + 12345;

uint8_t byte_at(int64_t offset) { return static_cast<uint8_t>(offset * 131 + (offset >> 9)); }

void work(FetchQueue& queue, unsigned seed) {
  std::mt19937 random(seed);
  while (const auto fetch = queue.take()) {
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    if (fetch->cancelled || random() % 16 == 0) {
      queue.fail_with(*fetch, {.code = "E-STORE-021", .message = "it fails now and then"});
      continue;
    }
    const int64_t begin = fetch->offset < 0 ? std::max<int64_t>(0, kSize - fetch->count) : fetch->offset;
    const int64_t count = std::min(fetch->count, kSize - begin);
    for (int64_t i = 0; i < count; ++i) fetch->bytes[i] = byte_at(begin + i);
    queue.count_bytes(count);
    queue.finish(*fetch, count, kSize, "etag");
  }
}

void check(int64_t offset, const std::vector<uint8_t>& bytes) {
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != byte_at(offset + static_cast<int64_t>(i))) {
      std::printf("byte %lld is wrong\n", static_cast<long long>(offset + static_cast<int64_t>(i)));
      std::exit(1);
    }
}

// In order from some place on, a few places at once, or all over; through a view of its own or the file itself.
void read(const std::shared_ptr<ByteSource>& file, unsigned seed, const std::atomic<bool>& stop,
          std::atomic<int64_t>& reads) {
  std::mt19937 random(seed);
  while (!stop) {
    const auto source = random() % 2 ? own_view(file) : file;
    try {
      int64_t at = random() % kSize;
      for (int i = 0; i < 12 && !stop; ++i, ++reads) {
        const int64_t count = std::min<int64_t>(kSize - at, 1 + random() % (200 << 10));
        std::vector<uint8_t> one(count);
        std::vector<uint8_t> two(std::min<int64_t>(kSize, 5000));
        if (random() % 5 == 0)
          source->read_all({{at, count, one.data()}, {0, static_cast<int64_t>(two.size()), two.data()}});
        else
          source->read(at, count, one.data());
        check(at, one);
        at += count;
        if (at >= kSize) break;
      }
    } catch (const FaultError& error) {
      if (error.fault().code != "E-STORE-021" && error.fault().code != "E-STORE-008") throw;
    }
  }
}

std::shared_ptr<ByteSource> open(const std::shared_ptr<FetchQueue>& queue) {
  while (true) {
    try {
      return open_remote(queue, "s3://b/k", "k", -1, "");
    } catch (const FaultError&) {
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const auto queue = std::make_shared<FetchQueue>();
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < 4; ++i) workers.emplace_back([&queue, i] { work(*queue, i); });
  std::atomic<int64_t> reads = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (unsigned round = 0; std::chrono::steady_clock::now() < end; ++round) {
    auto file = open(queue);
    if (file->size() != kSize || file->version() != "etag") return 1;
    std::atomic<bool> stop = false;
    {
      std::vector<std::jthread> readers;
      for (unsigned i = 0; i < 4; ++i) readers.emplace_back([&, i] { read(file, round * 4 + i, stop, reads); });
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      stop = true;
      queue->interrupt();
    }
    queue->resume();
  }
  queue->close();
  workers.clear();
  std::printf("%lld reads\n", static_cast<long long>(reads.load()));
  return reads > 0 ? 0 : 1;
}
