// A growing run of bytes that nobody zeroes, with room behind its end that may be read.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

namespace sexpgpu::dataio {

class Buffer {
 public:
  static constexpr int64_t kPadding = 64;  // readable behind the end, so that words can be loaded whole; zero

  uint8_t* data() { return bytes_.get(); }
  const uint8_t* data() const { return bytes_.get(); }
  int64_t size() const { return size_; }
  int64_t capacity() const { return capacity_; }

  // Room for `more` bytes behind the end; the caller writes there and calls `grew`.
  uint8_t* room(int64_t more) {
    if (size_ + more > capacity_) {
      const int64_t wanted = size_ + more > capacity_ * 2 ? size_ + more : capacity_ * 2;
      auto larger = std::make_unique_for_overwrite<uint8_t[]>(wanted + kPadding);
      if (size_) std::memcpy(larger.get(), bytes_.get(), size_);
      bytes_ = std::move(larger);
      capacity_ = wanted;
    }
    return bytes_.get() + size_;
  }
  void grew(int64_t more) { size_ += more; }
  void append(const uint8_t* from, int64_t count) {
    if (count == 0) return;
    std::memcpy(room(count), from, count);
    size_ += count;
  }
  void clear() { size_ = 0; }

  // Drops the first `count` bytes.
  void drop(int64_t count) {
    if (count < size_) std::memmove(bytes_.get(), bytes_.get() + count, size_ - count);
    size_ -= count;
  }
  void pad() {
    if (!bytes_) room(1);
    std::memset(bytes_.get() + size_, 0, kPadding);
  }

 private:
  std::unique_ptr<uint8_t[]> bytes_;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace sexpgpu::dataio
