// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a draw is a pure function of
// key, epoch and index, so any draw of any epoch can be had without the ones before it.
#pragma once

#include <array>
#include <cstdint>

namespace sexpgpu::dataio {

inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0];
    const uint64_t b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

// A number in [0, bound), for bound > 0: the high half of a 64-bit product, so biased by less than bound / 2^64.
inline int64_t draw(uint64_t key, int64_t epoch, int64_t index, int64_t bound) {
  const auto e = static_cast<uint64_t>(epoch);
  const auto i = static_cast<uint64_t>(index);
  const auto words = philox({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), static_cast<uint32_t>(e),
                             static_cast<uint32_t>(e >> 32)},
                            {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
  const uint64_t bits = words[0] | static_cast<uint64_t>(words[1]) << 32;
  return static_cast<int64_t>((static_cast<unsigned __int128>(bits) * static_cast<uint64_t>(bound)) >> 64);
}

}  // namespace sexpgpu::dataio
