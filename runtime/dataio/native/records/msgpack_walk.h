// Where a msgpack value ends, and what the bytes in front of it say.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace sexpgpu::dataio {

inline uint64_t big_endian(const uint8_t* at, int bytes) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return __builtin_bswap64(word) >> (64 - 8 * bytes);
}

// How many bytes a value takes whose size its first byte tells; 0 for those that state a size, and for C1, which is
// none.
inline constexpr auto kMsgpackSize = [] {
  std::array<uint8_t, 256> size{};
  for (int tag = 0; tag < 256; ++tag) {
    if (tag < 0x80 || tag >= 0xe0) size[tag] = 1;
    if (tag >= 0xa0 && tag < 0xc0) size[tag] = static_cast<uint8_t>(1 + (tag & 31));
  }
  size[0x80] = size[0x90] = size[0xc0] = size[0xc2] = size[0xc3] = 1;  // empty map and array, nil, bools
  size[0xcc] = size[0xd0] = 2;
  size[0xcd] = size[0xd1] = 3;
  size[0xca] = size[0xce] = size[0xd2] = 5;
  size[0xcb] = size[0xcf] = size[0xd3] = 9;
  size[0xd4] = 3;  // extensions of 1 to 16 bytes
  size[0xd5] = 4;
  size[0xd6] = 6;
  size[0xd7] = 10;
  size[0xd8] = 18;
  return size;
}();

// An array's or map's number of items, where `tag` begins one; `header` is how many bytes it takes.
inline bool msgpack_array(const uint8_t* at, uint64_t& items, int& header) {
  const uint8_t tag = *at;
  header = tag == 0xdc ? 3 : tag == 0xdd ? 5 : 1;
  if (tag >= 0x90 && tag < 0xa0) items = tag & 15;
  else if (header > 1) items = big_endian(at + 1, header - 1);
  else return false;
  return true;
}

inline bool msgpack_map(const uint8_t* at, uint64_t& items, int& header) {
  const uint8_t tag = *at;
  header = tag == 0xde ? 3 : tag == 0xdf ? 5 : 1;
  if (tag >= 0x80 && tag < 0x90) items = tag & 15;
  else if (header > 1) items = big_endian(at + 1, header - 1);
  else return false;
  return true;
}

// Text or binary: how many bytes, after a header.
inline bool msgpack_text(const uint8_t* at, uint64_t& bytes, int& header) {
  const uint8_t tag = *at;
  if (tag >= 0xa0 && tag < 0xc0) {
    header = 1;
    bytes = tag & 31;
    return true;
  }
  if (tag < 0xd9 || tag > 0xdb) return false;
  header = 1 + (1 << (tag - 0xd9));
  bytes = big_endian(at + 1, header - 1);
  return true;
}

inline bool msgpack_binary(const uint8_t* at, uint64_t& bytes, int& header) {
  const uint8_t tag = *at;
  if (tag < 0xc4 || tag > 0xc6) return false;
  header = 1 + (1 << (tag - 0xc4));
  bytes = big_endian(at + 1, header - 1);
  return true;
}

enum class Walked : uint8_t { whole, unfinished, bad };

// Moves `at` behind the value that begins there. 8 bytes behind `end` are readable. No recursion: nested values only
// add to the number of values to come.
Walked msgpack_walk(const uint8_t*& at, const uint8_t* end);

}  // namespace sexpgpu::dataio
