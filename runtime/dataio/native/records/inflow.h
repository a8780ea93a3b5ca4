// The uncompressed bytes of a file, in order, a bounded number at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "reader.h"
#include "records/bytes_buffer.h"
#include "records/zstd_seek_table.h"
#include "source.h"

namespace sexpgpu::dataio {

class Inflow {
 public:
  virtual ~Inflow() = default;

  // Appends about `count` bytes to `out` and returns how many, 0 at the end. Throws FaultError.
  virtual int64_t read(int64_t count, Buffer& out) = 0;

  // The byte of the file at which another inflow could begin to give what stands at `position` of this one's output,
  // or -1. Positions that are asked for ascend.
  virtual int64_t seam(int64_t position) = 0;

  // As in BlockStream.
  virtual bool wants_ahead() { return false; }
  virtual std::shared_ptr<Ahead> ahead() { return nullptr; }
};

enum class Compression : uint8_t { none, gzip, zstd };

// Begins at byte `offset` of the file, where a gzip member or a zstd frame begins, and goes on to the file's end.
// `table` may tell where zstd's frames lie; it lives longer than the inflow.
std::unique_ptr<Inflow> open_inflow(Compression compression, std::shared_ptr<ByteSource> source, int64_t offset,
                                    const ZstdSeekTable* table = nullptr);

// Each kind, in its own file.
std::unique_ptr<Inflow> plain_inflow(std::shared_ptr<ByteSource> source, int64_t offset);
std::unique_ptr<Inflow> gzip_inflow(std::shared_ptr<ByteSource> source, int64_t offset);
std::unique_ptr<Inflow> zstd_inflow(std::shared_ptr<ByteSource> source, int64_t offset, const ZstdSeekTable* table);

// A source read once from front to back, through a window.
class Window {
 public:
  static constexpr int64_t kBytes = int64_t{1} << 20;

  Window(std::shared_ptr<ByteSource> source, int64_t offset) : source_(std::move(source)), next_(offset) {}

  const std::string& name() const { return source_->name(); }
  int64_t size() const { return source_->size(); }

  // What is there but not yet consumed, and the file's byte it begins at.
  const uint8_t* data() const { return buffer_.data() + used_; }
  int64_t available() const { return buffer_.size() - used_; }
  int64_t offset() const { return next_ - available(); }
  bool whole() const { return next_ >= source_->size(); }

  void consume(int64_t count) { used_ += count; }

  // Reads on, so that at least `count` bytes are there; false where the file ends before. Zeroes stand behind the end.
  bool want(int64_t count) {
    if (available() >= count) return true;
    buffer_.drop(used_);
    used_ = 0;
    while (available() < count && !whole()) {
      const int64_t most = count - available() > kBytes ? count - available() : kBytes;
      const int64_t get = most < source_->size() - next_ ? most : source_->size() - next_;
      source_->read(next_, get, buffer_.room(get));
      buffer_.grew(get);
      next_ += get;
    }
    buffer_.pad();
    return available() >= count;
  }

 private:
  std::shared_ptr<ByteSource> source_;
  Buffer buffer_;
  int64_t used_ = 0;
  int64_t next_;
};

}  // namespace sexpgpu::dataio
