// Runs of msgpack numbers of one kind, which is how most arrays hold them: eight are looked at in one go, and a value
// at a time is only what breaks the run.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "rows/cast.h"

namespace sexpgpu::dataio {

inline constexpr int64_t kMsgpackRun = 8;

// Whether eight values at `at`, were each of `kSize` bytes, all begin with `tag`. Reads 8 · kSize bytes.
template <int kSize>
inline bool eight_alike(const uint8_t* at, uint8_t tag) {
  constexpr auto kMasks = [] {
    std::array<std::array<uint8_t, 8>, kSize> bytes{};
    for (int value = 0; value < 8; ++value) bytes[value * kSize / 8][value * kSize % 8] = 0xff;
    std::array<uint64_t, kSize> words{};
    for (int word = 0; word < kSize; ++word) words[word] = std::bit_cast<uint64_t>(bytes[word]);
    return words;
  }();
  const uint64_t tags = 0x0101010101010101u * tag;
  uint64_t other = 0;
  for (int word = 0; word < kSize; ++word) {
    uint64_t read;
    std::memcpy(&read, at + 8 * word, 8);
    other |= (read ^ tags) & kMasks[word];
  }
  return other == 0;
}

// The same for integers from 0 to 127, which are a byte each.
inline bool eight_small(const uint8_t* at, uint8_t) {
  uint64_t read;
  std::memcpy(&read, at, 8);
  return (read & 0x8080808080808080u) == 0;
}

// Moves behind values of the kind that begins at `at`, eight at a time, as long as there are such, at most `most`, and
// they end before `end`. Returns how many they were.
inline int64_t skip_run(const uint8_t*& at, const uint8_t* end, uint64_t most) {
  int64_t done = 0;
  const uint8_t tag = *at;
  const auto skip = [&](int size, auto alike) {
    while (most >= kMsgpackRun && end - at >= kMsgpackRun * size && alike(at, tag)) {
      at += kMsgpackRun * size;
      most -= kMsgpackRun;
      done += kMsgpackRun;
    }
  };
  switch (tag) {
    case 0xcc: case 0xd0: skip(2, eight_alike<2>); break;
    case 0xcd: case 0xd1: skip(3, eight_alike<3>); break;
    case 0xca: case 0xce: case 0xd2: skip(5, eight_alike<5>); break;
    case 0xcb: case 0xcf: case 0xd3: skip(9, eight_alike<9>); break;
    default: if (tag < 0x80) skip(1, eight_small);
  }
  return done;
}

template <typename From>
inline From msgpack_number(const uint8_t* at) {
  if constexpr (sizeof(From) == 1) {
    return static_cast<From>(*at);
  } else if constexpr (sizeof(From) == 2) {
    uint16_t bits;
    std::memcpy(&bits, at, 2);
    return static_cast<From>(__builtin_bswap16(bits));
  } else if constexpr (sizeof(From) == 4) {
    uint32_t bits;
    std::memcpy(&bits, at, 4);
    return std::bit_cast<From>(__builtin_bswap32(bits));
  } else {
    uint64_t bits;
    std::memcpy(&bits, at, 8);
    return std::bit_cast<From>(__builtin_bswap64(bits));
  }
}

// Reads eight values of the kind that begins at `at` into `to`, or none: where they are not alike, or one does not fit.
// 72 bytes are readable.
template <typename To>
inline bool read_eight(const uint8_t*& at, uint8_t* to) {
  To stored[kMsgpackRun];
  bool good = true;
  const auto read = [&]<typename From>(From, int head) {
    const int size = head + static_cast<int>(sizeof(From));
    for (int i = 0; i < kMsgpackRun; ++i) good &= cast<To>(msgpack_number<From>(at + i * size + head), stored[i]);
    if (!good) return;
    std::memcpy(to, stored, sizeof(stored));
    at += kMsgpackRun * size;
  };
  const auto tagged = [&]<typename From>(From kind) {
    good = eight_alike<1 + static_cast<int>(sizeof(From))>(at, *at);
    if (good) read(kind, 1);
  };
  switch (*at) {
    case 0xca: tagged(float{}); break;
    case 0xcb: tagged(double{}); break;
    case 0xcc: tagged(uint8_t{}); break;
    case 0xcd: tagged(uint16_t{}); break;
    case 0xce: tagged(uint32_t{}); break;
    case 0xcf: tagged(uint64_t{}); break;
    case 0xd0: tagged(int8_t{}); break;
    case 0xd1: tagged(int16_t{}); break;
    case 0xd2: tagged(int32_t{}); break;
    case 0xd3: tagged(int64_t{}); break;
    default:
      good = eight_small(at, *at);
      if (good) read(uint8_t{}, 0);
  }
  return good;
}

}  // namespace sexpgpu::dataio
