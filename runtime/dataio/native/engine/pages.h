// Whole pages from the system: aligned to 4,096 bytes, zero at first, given back when freed.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <utility>

namespace sexpgpu::dataio {

inline constexpr int64_t kPageBytes = 4096;

inline int64_t round_to_pages(int64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

class Pages {
 public:
  explicit Pages(int64_t bytes) : Pages(bytes, 0) {}

  // Room for at most so many of so many bytes each. As there may be fewer, it may be more than the machine has.
  static Pages for_at_most(int64_t count, int64_t each) {
    if (each > 0 && count > (INT64_MAX - kPageBytes) / each) throw std::bad_alloc();
    return Pages(count * each, MAP_NORESERVE);
  }

  ~Pages() { ::munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint8_t* data() const { return data_; }
  int64_t size() const { return bytes_; }

 private:
  Pages(int64_t bytes, int flags) : bytes_(round_to_pages(bytes > 0 ? bytes : 1)) {
    void* at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    // A buffer that is read at random misses fewer translations with large pages. Only a wish: failure is no matter.
    if (bytes_ >= (int64_t{2} << 20)) ::madvise(at, bytes_, MADV_HUGEPAGE);
    data_ = static_cast<uint8_t*>(at);
  }

  int64_t bytes_;
  uint8_t* data_;
};

}  // namespace sexpgpu::dataio
