// The table that zstd's seekable format keeps in a skippable frame at the end of a file: where each frame lies, and how
// much it holds.
//
// Format: https://github.com/facebook/zstd/blob/dev/contrib/seekable_format/zstd_seekable_compression_format.md
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "source.h"

namespace sexpgpu::dataio {

class ZstdSeekTable {
 public:
  struct Frame {
    int64_t offset;
    int64_t bytes;    // in the file
    int64_t content;  // decompressed
  };

  explicit ZstdSeekTable(std::vector<Frame> frames) : frames_(std::move(frames)) {}

  int64_t held_bytes() const { return static_cast<int64_t>(frames_.size() * sizeof(Frame)); }

  // The frame that begins at this byte of the file, or null.
  const Frame* at(int64_t offset) const;

 private:
  std::vector<Frame> frames_;  // in order
};

// The table at the end of a file. Nothing where there is none, where it contradicts itself or the file's size, and
// where it is larger than any use of it. What it says of a frame is still to be compared with the frame.
std::optional<ZstdSeekTable> zstd_seek_table(ByteSource& source);

}  // namespace sexpgpu::dataio
