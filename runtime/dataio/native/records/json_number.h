// JSON numbers into dtypes, checked: integers exactly, floats rounded once.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "rows/cast.h"

namespace sexpgpu::dataio {

// A number's text and what it says. An integer has neither fraction nor exponent; `size` is its magnitude where that
// fits 64 bits.
struct JsonNumber {
  const uint8_t* begin;
  const uint8_t* end;
  bool negative;
  bool integer;
  bool fits;
  uint64_t size;
};

// Reads a number at `at`; false where there is none. Strict: no leading zeros, no bare point.
bool scan_number(const uint8_t* at, JsonNumber& out);

// Into a dtype's storage; false where it does not fit.
template <typename To>
bool put_number(const JsonNumber& number, To& to);

// How many digits stand at `at`, and their value: up to 7 of 8 bytes that are looked at. 8 means more than that.
inline int short_digits(const uint8_t* at, uint32_t& value) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  // A byte's top bit is set where it is no digit; the lowest such byte is exact.
  const uint64_t marks = ((word + 0x4646464646464646u) | (word - 0x3030303030303030u)) & 0x8080808080808080u;
  if (marks == 0) return 8;
  const int count = std::countr_zero(marks) >> 3;
  if (count == 0) return 0;
  // The digits move to the high bytes, zeros come in below; then pairs, fours and eights are added up.
  uint64_t digits = (word ^ 0x3030303030303030u) << (64 - 8 * count);
  digits = digits * 10 + (digits >> 8);
  digits = ((digits & 0x000000FF000000FFu) * 0x000F424000000064u +
            ((digits >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >> 32;
  value = static_cast<uint32_t>(digits);
  return count;
}

}  // namespace sexpgpu::dataio
