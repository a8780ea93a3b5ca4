#include "records/zstd_unit.h"

#include <algorithm>

#include "records/zstd_frame.h"

namespace sexpgpu::dataio {
namespace {

constexpr int kWindowLogMax = 100;  // ZSTD_d_windowLogMax

// Decompresses the frame at `in` behind `out`. `offset` is where it lies in the file.
void decompress_frame(arrow::util::Decompressor& zstd, const uint8_t* in, const ZstdWhole& frame, Buffer& out,
                      const std::string& name, int64_t offset) {
  int64_t bytes = frame.bytes;
  int64_t content = frame.content;
  const auto check = [&](const arrow::Status& status) {
    if (!status.ok()) zstd_damaged(name, offset, "a zstd frame does not decompress (" + status.message() + ")");
  };
  check(zstd.Reset());
  while (!zstd.IsFinished()) {
    uint8_t* room = out.room(std::max<int64_t>(content, 1));
    const auto step = zstd.Decompress(bytes, in, std::max<int64_t>(content, 1), room);
    check(step.status());
    out.grew(step->bytes_written);
    in += step->bytes_read;
    bytes -= step->bytes_read;
    content -= step->bytes_written;
    if (content < 0) break;
    if (step->bytes_read == 0 && step->bytes_written == 0 && !zstd.IsFinished())
      zstd_damaged(name, offset, "a zstd frame does not end where its blocks do");
  }
  if (content < 0 || (frame.exact && (content != 0 || bytes != 0)))
    zstd_damaged(name, offset, "a zstd frame is not what the table of frames says of it");
}

}  // namespace

std::shared_ptr<arrow::util::Decompressor> zstd_decompressor() {
  arrow::util::ZstdCodecOptions options;
  options.decompression_context_params = {{kWindowLogMax, kZstdWindowLog}};
  auto codec = arrow::util::Codec::Create(arrow::Compression::ZSTD, options);
  if (!codec.ok()) throw std::bad_alloc();
  auto made = (*codec)->MakeDecompressor();
  if (!made.ok()) throw std::bad_alloc();
  return *made;
}

void ZstdUnit::run() {
  std::unique_lock lock(mutex_);
  if (state_ == State::fresh) {
    state_ = State::busy;
    lock.unlock();
    std::exception_ptr error;
    try {
      decompress();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    state_ = State::done;
    done_.notify_all();
    return;
  }
  done_.wait(lock, [this] { return state_ == State::done; });
}

void ZstdUnit::decompress() {
  const auto zstd = zstd_decompressor();
  const uint8_t* at = in.data();
  int64_t where = offset;
  out_.room(content);
  for (const ZstdWhole& frame : frames) {
    if (frame.content > 0 || frame.exact) {
      if (!seams.empty() && seams.back().first == out_.size()) seams.pop_back();
      seams.emplace_back(out_.size(), where);
      decompress_frame(*zstd, at, frame, out_, name_, where);
    }
    at += frame.bytes;
    where += frame.bytes;
  }
  in = Buffer();
}

}  // namespace sexpgpu::dataio
