// The concurrent core under ThreadSanitizer: loaders with several threads over files of records, started, read, stopped
// in the middle and started again, while another thread asks for their statistics.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "core.h"

using namespace sexpgpu::dataio;

// threads FOLDER: with `a.jsonl.gz`, `b.msgpack.zst` and `c.jsonl`, of records with `x`, four numbers.
int main(int, char** words) {
  const std::string folder = words[1];
  const std::vector<Field> fields{{"x", "x", DType::i32, {4}, 4, 16}};
  const auto file = [&](const char* name, const char* encoding) {
    return FileName{name, folder + "/" + name, encoding};
  };
  const std::vector<std::vector<FileName>> one{{file("a.jsonl.gz", "jsonl.gz"), file("b.msgpack.zst", "msgpack.zst"),
                                                file("c.jsonl", "jsonl")}};
  const std::vector<std::vector<FileName>> mixed{{one[0][0]}, {one[0][1]}, {one[0][2]}};
  int64_t batches = 0;
  for (const bool endless : {true, false})
    for (const auto policy : {OnBadData::error, OnBadData::skip_record, OnBadData::skip_file})
      for (const int64_t shuffle : {0, 300})
        for (const bool weighted : {false, true}) {
          const std::vector<double> weights = weighted ? std::vector<double>{1, 2, 0.5} : std::vector<double>{};
          const CoreOptions options{16, 1, 0, shuffle, false, 3, 3, 1 << 16, weights, endless, policy, 50};
          const auto store = std::make_shared<const Store>(nullptr);
          Core core(weighted ? mixed : one, fields, options, store, [] {});
          std::atomic<bool> over = false;
          Begin begin;
          begin.rows = core.rows();
          for (int run = 0; run < 3; ++run) {
            core.start(begin);
            over = false;
            std::thread asking([&] {
              while (!over) {
                core.ready();
                core.bytes_read();
                core.take_omissions();
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
              }
            });
            try {
              for (int i = 0; i < 150; ++i) {
                std::unique_ptr<Lease> lease;
                Engine::Wait wait;
                while ((wait = core.next(std::chrono::milliseconds(50), lease)) == Engine::Wait::timeout) {
                }
                if (wait == Engine::Wait::finished) break;
                ++batches;
              }
            } catch (const FaultError& error) {
              if (policy != OnBadData::error) std::printf("%s\n", error.what());  // a bad record ends the others
            }
            over = true;
            asking.join();
            core.stop();
          }
        }
  std::printf("%ld batches\n", static_cast<long>(batches));
}
