// The checksum of gzip (CRC-32, reflected polynomial 0xEDB88320), eight bytes at a time through eight tables.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace sexpgpu::dataio {

inline constexpr auto kCrcTables = [] {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ (value & 1 ? 0xEDB88320u : 0u);
    tables[0][i] = value;
  }
  for (uint32_t i = 0; i < 256; ++i)
    for (int t = 1; t < 8; ++t) tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xff];
  return tables;
}();

// Continues `crc`, which is 0 at first.
inline uint32_t crc32(uint32_t crc, const uint8_t* data, int64_t count) {
  static_assert(std::endian::native == std::endian::little);
  crc = ~crc;
  for (; count >= 8; count -= 8, data += 8) {
    uint64_t word;
    std::memcpy(&word, data, 8);
    word ^= crc;
    crc = 0;
    for (int byte = 0; byte < 8; ++byte) crc ^= kCrcTables[7 - byte][(word >> (8 * byte)) & 0xff];
  }
  for (; count > 0; --count, ++data) crc = (crc >> 8) ^ kCrcTables[0][(crc ^ *data) & 0xff];
  return ~crc;
}

}  // namespace sexpgpu::dataio
