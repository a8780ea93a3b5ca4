// The checksum of gzip: CRC-32, reflected, with the polynomial 0xEDB88320.
#pragma once

#include <cstdint>

namespace sexpgpu::dataio {

// Continues `crc`, which is 0 at first.
uint32_t crc32(uint32_t crc, const uint8_t* data, int64_t count);

}  // namespace sexpgpu::dataio
