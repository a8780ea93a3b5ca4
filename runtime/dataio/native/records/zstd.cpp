// Zstandard: any number of frames, of which the small ones are decompressed side by side.
//
// Frames are cut out by the table of zstd's seekable format where there is one, else by their block headers. Those
// that hold little enough are gathered into units, which any thread may decompress; a frame too large for that is
// decompressed as it is read, and nothing is read beyond it meanwhile.
#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

#include "records/zstd_frame.h"
#include "records/zstd_unit.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kUnitBytes = int64_t{8} << 20;     // the most a unit takes in the file
constexpr int64_t kUnitContent = int64_t{16} << 20;  // and decompressed
constexpr int64_t kGather = int64_t{1} << 20;        // small frames make one unit up to this much decompressed
constexpr size_t kUnits = 3;                         // decompressed or being decompressed

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
      std::shared_ptr<ZstdUnit> unit;
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
          large_ = zstd_decompressor();
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
  std::shared_ptr<ZstdUnit> next_unit() {
    if (large_pending_ || large_) return nullptr;
    if (!window_.want(1)) {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      return nullptr;
    }
    auto unit = std::make_shared<ZstdUnit>(window_.name(), window_.offset());
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
  std::optional<ZstdWhole> locate(const ZstdFrame& frame) {
    if (const auto* said = table_ ? table_->at(window_.offset()) : nullptr) {
      if (said->bytes > kUnitBytes || said->content > kUnitContent) return std::nullopt;
      if (!window_.want(said->bytes)) zstd_cut(window_);
      return ZstdWhole{said->bytes, said->content, true};
    }
    const auto extent = zstd_extent(window_, frame, kUnitBytes, kUnitContent);
    if (!extent) return std::nullopt;
    return ZstdWhole{extent->bytes, extent->content, false};
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
  std::deque<std::shared_ptr<ZstdUnit>> units_;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Inflow> zstd_inflow(std::shared_ptr<ByteSource> source, int64_t offset, const ZstdSeekTable* table) {
  return std::make_unique<ZstdInflow>(std::move(source), offset, table);
}

}  // namespace sexpgpu::dataio
