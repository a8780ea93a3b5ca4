// The rule for one value: converts, or says that it does not fit. Never wraps, never rounds an integer, never turns a
// finite number into an infinity. Floats round to nearest even, and may underflow.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sexpgpu::dataio {

// Storage types of their own, so that overloads can tell them from integers.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
struct Bool {
  uint8_t value;
};

template <typename T>
inline constexpr bool is_small_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat>;

// Rounds to a 16-bit float with `Mantissa` stored bits, straight from the double, so nothing is rounded twice.
// Returns false when a finite value overflows.
template <int Mantissa, int Exponent>
inline bool narrow(double value, uint16_t& out) {
  constexpr int kBias = (1 << (Exponent - 1)) - 1;
  constexpr uint16_t kInfinity = ((1 << Exponent) - 1) << Mantissa;
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint16_t sign = static_cast<uint16_t>(bits >> 63) << 15;
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((uint64_t{1} << 52) - 1);
  if (biased == 0x7ff) {
    // A NaN stays a quiet NaN.
    out = sign | kInfinity |
          (fraction ? (1 << (Mantissa - 1)) | static_cast<uint16_t>(fraction >> (52 - Mantissa)) : 0);
    return true;
  }
  if (biased == 0) {
    out = sign;  // a double's subnormals are far below both formats
    return true;
  }
  const int exponent = biased - 1023 + kBias;
  const uint64_t significand = fraction | (uint64_t{1} << 52);
  // Bits to drop: the formats' difference, and one more for each step below the smallest normal exponent.
  const int drop = 52 - Mantissa + (exponent < 1 ? 1 - exponent : 0);
  if (drop > 54) {
    out = sign;
    return true;
  }
  uint64_t kept = significand >> drop;
  const uint64_t rest = significand & ((uint64_t{1} << drop) - 1);
  const uint64_t half = uint64_t{1} << (drop - 1);
  if (rest > half || (rest == half && (kept & 1))) ++kept;
  // `kept` holds the implicit one of a normal number; adding lets a carry run into the exponent.
  const uint64_t packed = exponent < 1 ? kept : (static_cast<uint64_t>(exponent - 1) << Mantissa) + kept;
  if (packed >= kInfinity) return false;
  out = sign | static_cast<uint16_t>(packed);
  return true;
}

inline double widen(Half half) {
  const int exponent = (half.bits >> 10) & 31;
  const int fraction = half.bits & 1023;
  double value;
  if (exponent == 31)
    value = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(fraction + 1024, exponent - 25);
  return half.bits & 0x8000 ? -value : value;
}

// How many bits a float's significand has, and its largest finite value.
template <typename T>
struct FloatRange {
  static constexpr int digits = std::numeric_limits<T>::digits;
};
template <>
struct FloatRange<Half> {
  static constexpr int digits = 11;
};
template <>
struct FloatRange<BFloat> {
  static constexpr int digits = 8;
};

template <typename To>
inline bool cast_double(double from, To& to) {
  if constexpr (std::is_same_v<To, double>) {
    to = from;
    return true;
  } else if constexpr (std::is_same_v<To, float>) {
    to = static_cast<float>(from);
    return !std::isinf(to) || std::isinf(from);
  } else if constexpr (std::is_same_v<To, Half>) {
    return narrow<10, 5>(from, to.bits);
  } else if constexpr (std::is_same_v<To, BFloat>) {
    return narrow<7, 8>(from, to.bits);
  } else if constexpr (std::is_same_v<To, Bool>) {
    to.value = from == 1;
    return from == 0 || from == 1;
  } else {
    // Both bounds are exact doubles: the largest value plus one is a power of two.
    constexpr double low = static_cast<double>(std::numeric_limits<To>::min());
    constexpr double high = 2.0 * static_cast<double>(uint64_t{1} << (std::numeric_limits<To>::digits - 1));
    const bool fits = from >= low && from < high && from == std::trunc(from);
    to = fits ? static_cast<To>(from) : To{};
    return fits;
  }
}

template <typename To, typename From>
inline bool cast_integer(From from, To& to) {
  if constexpr (std::is_same_v<To, Bool>) {
    to.value = from == 1;
    return from == 0 || from == 1;
  } else if constexpr (std::is_integral_v<To>) {
    to = static_cast<To>(from);
    if constexpr (std::is_signed_v<From> == std::is_signed_v<To>)
      return static_cast<From>(to) == from;
    else
      return static_cast<From>(to) == from && (std::is_signed_v<From> ? from >= 0 : to >= 0);
  } else {
    constexpr int digits = FloatRange<To>::digits;
    if constexpr (std::numeric_limits<From>::digits > digits) {
      // Exact when what is left without trailing zeros fits the significand.
      const uint64_t size = from < 0 ? uint64_t{0} - static_cast<uint64_t>(from) : static_cast<uint64_t>(from);
      if ((size >> digits) != 0 && 64 - std::countl_zero(size) - std::countr_zero(size) > digits) return false;
    }
    if constexpr (is_small_float<To>)
      return cast_double(static_cast<double>(from), to);  // exact here: at most 11 significant bits
    else {
      to = static_cast<To>(from);
      return true;
    }
  }
}

template <typename To, typename From>
inline bool cast(From from, To& to) {
  if constexpr (std::is_same_v<To, From>) {
    to = from;
    return true;
  } else if constexpr (std::is_same_v<From, Half>) {
    return cast_double(widen(from), to);
  } else if constexpr (std::is_same_v<From, Bool>) {
    return cast_integer<To, uint8_t>(from.value, to);
  } else if constexpr (std::is_floating_point_v<From>) {
    return cast_double(static_cast<double>(from), to);
  } else {
    return cast_integer(from, to);
  }
}

}  // namespace sexpgpu::dataio
