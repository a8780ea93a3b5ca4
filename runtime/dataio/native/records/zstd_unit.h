// Zstd frames that are decompressed together, by any thread.
#pragma once

#include <arrow/util/compression.h>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "records/inflow.h"

namespace sexpgpu::dataio {

std::shared_ptr<arrow::util::Decompressor> zstd_decompressor();

// Whole frames as they were located: `content` is what one may hold, and does hold where it is `exact`.
struct ZstdWhole {
  int64_t bytes;
  int64_t content;
  bool exact;
};

// Whole frames that follow each other.
class ZstdUnit final : public Ahead {
 public:
  ZstdUnit(std::string name, int64_t offset) : offset(offset), name_(std::move(name)) {}

  int64_t offset;
  std::vector<ZstdWhole> frames;
  Buffer in;
  int64_t content = 0;

  // By whoever comes first; others wait. Throws what went wrong, to each.
  void run() override;

  Buffer& text() {
    run();
    if (error_) std::rethrow_exception(error_);
    return out_;
  }

  // Where each frame's content begins within the text.
  std::vector<std::pair<int64_t, int64_t>> seams;

 private:
  enum class State : uint8_t { fresh, busy, done };

  void decompress();

  std::string name_;
  std::mutex mutex_;
  std::condition_variable done_;
  State state_ = State::fresh;
  std::exception_ptr error_;
  Buffer out_;
};

}  // namespace sexpgpu::dataio
