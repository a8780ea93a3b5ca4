#include "records/zstd_seek_table.h"

#include <algorithm>

#include "records/zstd_frame.h"

namespace sexpgpu::dataio {
namespace {

constexpr uint32_t kSkippable = 0x184d2a5e;
constexpr uint32_t kSeekable = 0x8f92eab1;
constexpr int64_t kHeader = 8;
constexpr int64_t kFooter = 9;               // frames, a descriptor, a magic number
constexpr int64_t kMost = int64_t{1} << 20;  // bytes of a table: some hundred thousand frames

}  // namespace

const ZstdSeekTable::Frame* ZstdSeekTable::at(int64_t offset) const {
  const auto found = std::lower_bound(frames_.begin(), frames_.end(), offset,
                                      [](const Frame& frame, int64_t wanted) { return frame.offset < wanted; });
  return found != frames_.end() && found->offset == offset ? &*found : nullptr;
}

std::optional<ZstdSeekTable> zstd_seek_table(ByteSource& source) {
  const int64_t size = source.size();
  if (size < kHeader + kFooter) return std::nullopt;
  uint8_t footer[kFooter];
  source.read(size - kFooter, kFooter, footer);
  const int descriptor = footer[4];
  if (zstd_word(footer + 5) != kSeekable || (descriptor & 0x7f) != 0) return std::nullopt;
  const int64_t count = zstd_word(footer);
  const int64_t each = descriptor & 0x80 ? 12 : 8;  // with a checksum of the content or without
  const int64_t bytes = kHeader + count * each + kFooter;
  if (bytes > std::min(size, kMost)) return std::nullopt;
  std::vector<uint8_t> table(bytes - kFooter);
  source.read(size - bytes, bytes - kFooter, table.data());
  if (zstd_word(table.data()) != kSkippable || zstd_word(table.data() + 4) != bytes - kHeader) return std::nullopt;
  std::vector<ZstdSeekTable::Frame> frames;
  frames.reserve(count);
  int64_t offset = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* entry = table.data() + kHeader + i * each;
    frames.push_back({offset, zstd_word(entry), zstd_word(entry + 4)});
    if (frames.back().bytes == 0) return std::nullopt;
    offset += frames.back().bytes;
  }
  // The frames have to fill the file up to the table.
  if (offset != size - bytes) return std::nullopt;
  return ZstdSeekTable(std::move(frames));
}

}  // namespace sexpgpu::dataio
