#include "records/zstd_frame.h"

#include <algorithm>

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kBlock = int64_t{128} << 10;  // the most that a block gives

}  // namespace

void zstd_cut(const Window& window) {
  fail({.code = "E-STORE-005",
        .message = quoted(window.name()) + " is cut: it ends inside a zstd frame, at byte " +
                   std::to_string(window.size()),
        .advice = "copy or write the file again"});
}

void zstd_damaged(const std::string& name, int64_t offset, const std::string& what) {
  fail({.code = "E-STORE-004",
        .message = quoted(name) + " is damaged near byte " + std::to_string(offset) + ": " + what,
        .advice = "copy or write the file again"});
}

ZstdFrame zstd_header(Window& window) {
  const int64_t offset = window.offset();
  const bool first = offset == 0;
  const auto foreign = [&] {
    fail({.code = "E-STORE-003",
          .message = quoted(window.name()) + " is not a zstd file",
          .notes = {"a zstd file begins with the bytes 28 B5 2F FD"},
          .advice = "give the `:encoding` of the file, or write it again"});
  };
  if (!window.want(4)) (first ? foreign() : zstd_cut(window));
  const uint32_t magic = zstd_word(window.data());
  if ((magic & 0xfffffff0u) == 0x184d2a50u) {
    if (!window.want(8)) zstd_cut(window);
    return {true, 8 + static_cast<int64_t>(zstd_word(window.data() + 4)), false};
  }
  if (magic != 0xfd2fb528u) {
    if (first) foreign();
    zstd_damaged(window.name(), offset, "bytes that are no zstd frame follow a frame");
  }
  if (!window.want(5)) zstd_cut(window);
  const int descriptor = window.data()[4];
  const bool single = descriptor & 0x20;
  if (descriptor & 8) zstd_damaged(window.name(), offset, "a frame's header has a bit that has no meaning");
  constexpr int kIdBytes[] = {0, 1, 2, 4};
  const int size_code = descriptor >> 6;
  const int size_bytes = size_code == 0 ? (single ? 1 : 0) : 1 << size_code;
  const int64_t header = 5 + (single ? 0 : 1) + kIdBytes[descriptor & 3] + size_bytes;
  if (!window.want(header)) zstd_cut(window);
  const uint8_t* at = window.data() + 5;
  if (!single) {
    const int exponent = 10 + (*at >> 3);
    const uint64_t wanted = (uint64_t{1} << exponent) + (uint64_t{1} << exponent) / 8 * (*at & 7);
    if (wanted > uint64_t{1} << kZstdWindowLog)
      fail({.code = "E-STORE-003",
            .message = quoted(window.name()) + " has a zstd frame at byte " + std::to_string(offset) +
                       " with a window of " + std::to_string(wanted) + " bytes",
            .notes = {"windows of up to " + std::to_string(uint64_t{1} << kZstdWindowLog) + " bytes are read"},
            .advice = "compress the file again with a smaller window"});
    ++at;
  }
  uint32_t dictionary = 0;
  for (int i = 0; i < kIdBytes[descriptor & 3]; ++i) dictionary |= static_cast<uint32_t>(*at++) << (8 * i);
  if (dictionary != 0)
    fail({.code = "E-STORE-003",
          .message = quoted(window.name()) + " has a zstd frame at byte " + std::to_string(offset) +
                     " that needs the dictionary " + std::to_string(dictionary),
          .advice = "compress the file again without a dictionary"});
  return {false, header, (descriptor & 4) != 0};
}

std::optional<ZstdExtent> zstd_extent(Window& window, const ZstdFrame& frame, int64_t most_bytes,
                                      int64_t most_content) {
  ZstdExtent extent{frame.header, 0};
  while (true) {
    if (extent.bytes > most_bytes || extent.content > most_content) return std::nullopt;
    if (!window.want(extent.bytes + 3)) zstd_cut(window);
    const uint8_t* at = window.data() + extent.bytes;
    const uint32_t block = at[0] | at[1] << 8 | static_cast<uint32_t>(at[2]) << 16;
    const int kind = (block >> 1) & 3;
    const int64_t size = block >> 3;
    if (kind == 3) zstd_damaged(window.name(), window.offset() + extent.bytes, "a block of an unknown kind");
    extent.bytes += 3 + (kind == 1 ? 1 : size);
    extent.content += kind == 2 ? kBlock : size;
    if (!(block & 1)) continue;
    if (frame.checksum) extent.bytes += 4;
    if (extent.bytes > most_bytes || extent.content > most_content) return std::nullopt;
    if (!window.want(extent.bytes)) zstd_cut(window);
    return extent;
  }
}

}  // namespace sexpgpu::dataio
