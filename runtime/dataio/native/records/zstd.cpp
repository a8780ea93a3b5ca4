// Zstandard: any number of frames, of which the small ones are decompressed side by side.
//
// Frames are cut out by the table of zstd's seekable format where there is one, else by their block headers. Those that hold little enough are gathered into units, which any thread
// may decompress; a frame too large for that is decompressed as it is read, and nothing is read beyond it meanwhile.
#include <arrow/util/compression.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <vector>

#include "records/zstd_frame.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kUnitBytes = int64_t{8} << 20;     // the most a unit takes in the file
constexpr int64_t kUnitContent = int64_t{16} << 20;  // and decompressed
constexpr int64_t kGather = int64_t{1} << 20;        // small frames make one unit up to this much decompressed
constexpr size_t kUnits = 3;                         // decompressed or being decompressed
constexpr int kWindowLogMax = 100;                   // ZSTD_d_windowLogMax

std::shared_ptr<arrow::util::Decompressor> make_decompressor() {
  arrow::util::ZstdCodecOptions options;
  options.decompression_context_params = {{kWindowLogMax, kZstdWindowLog}};
  auto codec = arrow::util::Codec::Create(arrow::Compression::ZSTD, options);
  if (!codec.ok()) throw std::bad_alloc();
  auto made = (*codec)->MakeDecompressor();
  if (!made.ok()) throw std::bad_alloc();
  return *made;
}

// Whole frames as they were located: `content` is what one may hold, and does hold where it is `exact`.
struct Frame {
  int64_t bytes;
  int64_t content;
  bool exact;
};

// Decompresses the frame at `in` behind `out`. `offset` is where it lies in the file.
void decompress_frame(arrow::util::Decompressor& zstd, const uint8_t* in, const Frame& frame, Buffer& out,
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

// Whole frames that follow each other.
class Unit final : public Ahead {
 public:
  Unit(std::string name, int64_t offset) : offset(offset), name_(std::move(name)) {}

  int64_t offset;
  std::vector<Frame> frames;
  Buffer in;
  int64_t content = 0;

  // By whoever comes first; others wait. Throws what went wrong, to each.
  void run() override {
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

  Buffer& text() {
    run();
    if (error_) std::rethrow_exception(error_);
    return out_;
  }

  // Where each frame's content begins within the text.
  std::vector<std::pair<int64_t, int64_t>> seams;

 private:
  enum class State : uint8_t { fresh, busy, done };

  void decompress() {
    const auto zstd = make_decompressor();
    const uint8_t* at = in.data();
    int64_t where = offset;
    out_.room(content);
    for (const Frame& frame : frames) {
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

  std::string name_;
  std::mutex mutex_;
  std::condition_variable done_;
  State state_ = State::fresh;
  std::exception_ptr error_;
  Buffer out_;
};

class ZstdInflow final : public Inflow {
 public:
  ZstdInflow(std::shared_ptr<ByteSource> source, int64_t offset, const ZstdSeekTable* table)
      : window_(std::move(source), offset), table_(table) {}

  int64_t read(int64_t count, Buffer& out) override {
    while (true) {
      if (large_) {
        const int64_t got = stream(count, out);
        if (got > 0) return got;
        continue;
      }
      std::shared_ptr<Unit> unit;
      {
        const std::lock_guard lock(mutex_);
        if (!units_.empty()) unit = units_.front();
      }
      if (!unit) {
        const std::lock_guard reading(reading_);
        // Another thread may have put one there meanwhile.
        const bool more = has_units() || next_unit();
        if (!more && !large_pending_) return 0;
        if (!has_units() && large_pending_) {
          large_pending_ = false;
          large_ = make_decompressor();
          large_offset_ = window_.offset();
          seams_.emplace_back(position_, large_offset_);
        }
        continue;
      }
      Buffer& text = unit->text();
      const int64_t got = text.size();
      for (const auto& [at, offset] : unit->seams) seams_.emplace_back(position_ + at, offset);
      if (out.size() == 0)
        std::swap(out, text);
      else
        out.append(text.data(), got);
      position_ += got;
      {
        const std::lock_guard lock(mutex_);
        units_.pop_front();
      }
      if (got > 0) return got;
    }
  }

  int64_t seam(int64_t position) override {
    while (!seams_.empty() && seams_.front().first < position) seams_.pop_front();
    return !seams_.empty() && seams_.front().first == position ? seams_.front().second : -1;
  }

  bool wants_ahead() override {
    const std::lock_guard lock(mutex_);
    return !ended_ && units_.size() < kUnits;
  }

  std::shared_ptr<Ahead> ahead() override {
    const std::lock_guard reading(reading_);
    if (large_pending_ || large_) return nullptr;
    try {
      return next_unit();
    } catch (const FaultError&) {
      return nullptr;  // met again, in order, by the thread that needs these bytes
    }
  }

 private:
  bool has_units() {
    const std::lock_guard lock(mutex_);
    return !units_.empty();
  }

  // Cuts out the next frames; null at the end, and before a frame that is too large. With `reading_` held.
  std::shared_ptr<Unit> next_unit() {
    if (large_pending_ || large_) return nullptr;
    if (!window_.want(1)) {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      return nullptr;
    }
    auto unit = std::make_shared<Unit>(window_.name(), window_.offset());
    while (unit->content < kGather && unit->in.size() < kUnitBytes && window_.want(1)) try {
      const ZstdFrame frame = zstd_header(window_);
      if (frame.skippable) {
        if (unit->in.size() > 0) break;
        skip(frame.header);
        unit->offset = window_.offset();
        continue;
      }
      const auto extent = locate(frame);
      if (!extent) {
        if (unit->in.size() == 0) set_large();
        break;
      }
      if (unit->in.size() > 0 && unit->content + extent->content > kUnitContent) break;
      unit->in.append(window_.data(), extent->bytes);
      unit->frames.push_back(*extent);
      unit->content += extent->content;
      window_.consume(extent->bytes);
    } catch (const FaultError&) {
      if (unit->in.size() == 0) throw;
      break;  // the frames before come first; the next call meets the same fault
    }
    const std::lock_guard lock(mutex_);
    if (unit->in.size() == 0) {
      ended_ = ended_ || !large_pending_;
      return nullptr;
    }
    units_.push_back(unit);
    return unit;
  }

  // The frame at the window's data, all of which is there then; nothing where it is too large. Where the table says how
  // long it is, its blocks are not looked at.
  std::optional<Frame> locate(const ZstdFrame& frame) {
    if (const auto* said = table_ ? table_->at(window_.offset()) : nullptr) {
      if (said->bytes > kUnitBytes || said->content > kUnitContent) return std::nullopt;
      if (!window_.want(said->bytes)) zstd_cut(window_);
      return Frame{said->bytes, said->content, true};
    }
    const auto extent = zstd_extent(window_, frame, kUnitBytes, kUnitContent);
    if (!extent) return std::nullopt;
    return Frame{extent->bytes, extent->content, false};
  }

  void set_large() {
    large_pending_ = true;
    const std::lock_guard lock(mutex_);
    ended_ = true;  // nothing to read ahead for now
  }

  void skip(int64_t bytes) {
    if (bytes > window_.size() - window_.offset()) zstd_cut(window_);
    while (bytes > 0) {
      const int64_t some = std::min(bytes, Window::kBytes);
      window_.want(some);
      window_.consume(some);
      bytes -= some;
    }
  }

  // Some of the large frame; 0 at its end.
  int64_t stream(int64_t count, Buffer& out) {
    int64_t got = 0;
    const int64_t most = std::clamp<int64_t>(count, 1, kGather);
    while (got == 0 && !large_->IsFinished()) {
      window_.want(1);
      const auto step = large_->Decompress(window_.available(), window_.data(), most, out.room(most));
      if (!step.ok())
        zstd_damaged(window_.name(), window_.offset(), "a zstd frame does not decompress (" +
                                                           step.status().message() + ")");
      out.grew(step->bytes_written);
      got += step->bytes_written;
      window_.consume(step->bytes_read);
      if (step->bytes_written == 0 && step->bytes_read == 0 && !large_->IsFinished() && window_.whole())
        zstd_cut(window_);
    }
    position_ += got;
    if (large_->IsFinished()) {
      const std::lock_guard reading(reading_);
      large_.reset();
      const std::lock_guard lock(mutex_);
      ended_ = false;
    }
    return got;
  }

  Window window_;        // with `reading_`
  const ZstdSeekTable* table_;
  std::mutex reading_;
  std::atomic<bool> large_pending_ = false;
  std::shared_ptr<arrow::util::Decompressor> large_;  // of the large frame that is being read
  int64_t large_offset_ = 0;
  int64_t position_ = 0;  // of the output
  std::deque<std::pair<int64_t, int64_t>> seams_;

  std::mutex mutex_;  // guards the two below
  std::deque<std::shared_ptr<Unit>> units_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Inflow> zstd_inflow(std::shared_ptr<ByteSource> source, int64_t offset, const ZstdSeekTable* table) {
  return std::make_unique<ZstdInflow>(std::move(source), offset, table);
}

}  // namespace sexpgpu::dataio
