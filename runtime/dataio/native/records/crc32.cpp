#include "records/crc32.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sexpgpu::dataio {
namespace {

constexpr auto kTables = [] {
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

// Eight bytes at a time, through eight tables. `crc` is inverted already.
uint32_t by_tables(uint32_t crc, const uint8_t* data, int64_t count) {
  for (; count >= 8; count -= 8, data += 8) {
    uint64_t word = 0;
    for (int byte = 0; byte < 8; ++byte) word |= static_cast<uint64_t>(data[byte]) << (8 * byte);
    word ^= crc;
    crc = 0;
    for (int byte = 0; byte < 8; ++byte) crc ^= kTables[7 - byte][(word >> (8 * byte)) & 0xff];
  }
  for (; count > 0; --count, ++data) crc = (crc >> 8) ^ kTables[0][(crc ^ *data) & 0xff];
  return crc;
}

#if defined(__x86_64__)
// Sixty-four bytes at a time by carry-less multiplication (V. Gopal et al., "Fast CRC computation for generic
// polynomials using PCLMULQDQ instruction", Intel, 2009). `count` is a multiple of 16, and at least 64.
__attribute__((target("pclmul,sse4.1"))) uint32_t by_folding(uint32_t crc, const uint8_t* data, int64_t count) {
  // Powers of x modulo the polynomial, reflected: by how far each fold moves.
  const __m128i by_512 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
  const __m128i by_128 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
  const __m128i by_64 = _mm_set_epi64x(0, 0x0163cd6124);
  const __m128i barrett = _mm_set_epi64x(0x01f7011641, 0x01db710641);
  const __m128i low_words = _mm_setr_epi32(~0, 0, ~0, 0);
  const auto load = [](const uint8_t* at) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  };
  const auto fold = [](__m128i value, __m128i by, __m128i next) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(value, by, 0x00), _mm_clmulepi64_si128(value, by, 0x11)),
                         next);
  };
  __m128i a = _mm_xor_si128(load(data), _mm_cvtsi32_si128(static_cast<int>(crc)));
  __m128i b = load(data + 16);
  __m128i c = load(data + 32);
  __m128i d = load(data + 48);
  data += 64;
  count -= 64;
  for (; count >= 64; count -= 64, data += 64) {
    a = fold(a, by_512, load(data));
    b = fold(b, by_512, load(data + 16));
    c = fold(c, by_512, load(data + 32));
    d = fold(d, by_512, load(data + 48));
  }
  a = fold(fold(fold(a, by_128, b), by_128, c), by_128, d);
  for (; count >= 16; count -= 16, data += 16) a = fold(a, by_128, load(data));
  // 128 bits to 64, to 32 and the remainder.
  a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_128, 0x10));
  a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, low_words), by_64, 0x00));
  __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(a, low_words), barrett, 0x10);
  quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), barrett, 0x00);
  return static_cast<uint32_t>(_mm_extract_epi32(_mm_xor_si128(a, quotient), 1));
}
#endif

}  // namespace

uint32_t crc32(uint32_t crc, const uint8_t* data, int64_t count) {
  crc = ~crc;
#if defined(__x86_64__)
  static const bool folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
  if (folds && count >= 64) {
    const int64_t whole = count / 16 * 16;
    crc = by_folding(crc, data, whole);
    data += whole;
    count -= whole;
  }
#endif
  return ~by_tables(crc, data, count);
}

}  // namespace sexpgpu::dataio
