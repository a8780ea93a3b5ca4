// Zstandard frames as bytes (RFC 8878): where one ends and what its header says, without decompressing it.
#pragma once

#include <cstdint>
#include <optional>

#include "records/inflow.h"

namespace sexpgpu::dataio {

// Numbers are little-endian.
inline uint32_t zstd_word(const uint8_t* at) {
  return at[0] | at[1] << 8 | at[2] << 16 | static_cast<uint32_t>(at[3]) << 24;
}

struct ZstdFrame {
  bool skippable = false;
  int64_t header = 0;  // bytes before the first block; of a skippable frame, all of its bytes
  bool checksum = false;
};

// The frame that begins at the window's data, whose bytes of the header are there afterwards. Throws FaultError for
// what is no frame, needs a dictionary, or a window larger than the limit.
ZstdFrame zstd_header(Window& window);

// Looks for the end of a frame: `bytes` in all, and at most `content` bytes decompressed. Nothing where the frame is
// longer than `most_bytes`, or may hold more than `most_content`.
struct ZstdExtent {
  int64_t bytes;
  int64_t content;
};
std::optional<ZstdExtent> zstd_extent(Window& window, const ZstdFrame& frame, int64_t most_bytes,
                                      int64_t most_content);

[[noreturn]] void zstd_cut(const Window& window);
[[noreturn]] void zstd_damaged(const std::string& name, int64_t offset, const std::string& what);

inline constexpr int kZstdWindowLog = 31;  // the largest window taken: 2 GiB

}  // namespace sexpgpu::dataio
