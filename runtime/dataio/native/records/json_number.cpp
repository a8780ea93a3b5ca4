#include "records/json_number.h"

#include <charconv>
#include <cmath>
#include <string>
#include <type_traits>

#include "records/targets.h"

namespace sexpgpu::dataio {
namespace {

inline bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }

const char* text(const uint8_t* at) { return reinterpret_cast<const char*>(at); }

// The decimal exponent of the first digit that is not zero, for numbers that from_chars found out of range: far above
// 0 for an overflow, far below for an underflow.
bool is_large(const JsonNumber& number) {
  int64_t exponent = 0;
  bool point = false;
  bool started = false;
  const uint8_t* at = number.begin + number.negative;
  for (; at < number.end && *at != 'e' && *at != 'E'; ++at) {
    if (*at == '.') {
      point = true;
      continue;
    }
    started = started || *at != '0';
    if (started && !point) ++exponent;
    if (!started && point) --exponent;
  }
  int64_t stated = 0;
  if (at < number.end) {
    ++at;
    const bool minus = *at == '-';
    at += *at == '-' || *at == '+';
    for (; at < number.end && stated < (int64_t{1} << 40); ++at) stated = stated * 10 + (*at - '0');
    if (minus) stated = -stated;
  }
  return exponent + stated > 0;
}

template <typename Float>
bool parse_float(const JsonNumber& number, Float& to) {
  const auto result = std::from_chars(text(number.begin), text(number.end), to);
  if (result.ec == std::errc()) return !std::isinf(to);
  if (is_large(number)) return false;
  to = number.negative ? Float{-0.0} : Float{0.0};
  return true;
}

// An integer of more than 64 bits into a float: only where the float is that integer.
template <typename Float>
bool parse_wide_integer(const JsonNumber& number, Float& to) {
  if (!parse_float(number, to)) return false;
  char digits[400];
  const auto printed = std::to_chars(digits, digits + sizeof(digits), std::fabs(static_cast<double>(to)),
                                     std::chars_format::fixed, 0);
  if (printed.ec != std::errc()) return false;
  return std::string_view(digits, printed.ptr - digits) ==
         std::string_view(text(number.begin) + number.negative, number.end - number.begin - number.negative);
}

// A number with a fraction or an exponent that is an integer all the same, such as 1.50e1.
bool whole(const JsonNumber& number, uint64_t& size) {
  std::string digits;
  int64_t exponent = 0;
  bool point = false;
  const uint8_t* at = number.begin + number.negative;
  for (; at < number.end && *at != 'e' && *at != 'E'; ++at) {
    if (*at == '.') {
      point = true;
    } else {
      if (!digits.empty() || *at != '0') digits += static_cast<char>(*at);
      if (point) --exponent;
    }
  }
  if (at < number.end) {
    ++at;
    const bool minus = *at == '-';
    at += *at == '-' || *at == '+';
    int64_t stated = 0;
    for (; at < number.end && stated < (int64_t{1} << 40); ++at) stated = stated * 10 + (*at - '0');
    exponent += minus ? -stated : stated;
  }
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  size = 0;
  if (digits.empty()) return true;
  if (exponent < 0 || static_cast<int64_t>(digits.size()) + exponent > 20) return false;
  digits.append(exponent, '0');
  const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), size);
  return result.ec == std::errc();
}

}  // namespace

bool scan_number(const uint8_t* at, JsonNumber& out) {
  out = {at, at, *at == '-', true, true, 0};
  at += out.negative;
  if (!is_digit(*at)) return false;
  if (*at == '0') {
    ++at;
    if (is_digit(*at)) return false;
  } else {
    for (; is_digit(*at); ++at) {
      const uint64_t digit = *at - '0';
      out.fits = out.fits && (out.size < UINT64_MAX / 10 || (out.size == UINT64_MAX / 10 && digit <= UINT64_MAX % 10));
      if (out.fits) out.size = out.size * 10 + digit;
    }
  }
  if (*at == '.') {
    out.integer = false;
    ++at;
    if (!is_digit(*at)) return false;
    while (is_digit(*at)) ++at;
  }
  if (*at == 'e' || *at == 'E') {
    out.integer = false;
    ++at;
    at += *at == '+' || *at == '-';
    if (!is_digit(*at)) return false;
    while (is_digit(*at)) ++at;
  }
  out.end = at;
  return true;
}

template <typename To>
bool put_number(const JsonNumber& number, To& to) {
  if (number.integer && number.fits) return put_integer(number.size, number.negative, to);
  if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
    return number.integer ? parse_wide_integer(number, to) : parse_float(number, to);
  } else if constexpr (is_small_float<To>) {
    double wide = 0;
    if (!number.integer) return parse_float(number, wide) && cast(wide, to);
    // More than 64 bits: exact in a double, and few enough bits for the small format.
    if (!parse_wide_integer(number, wide) || !cast(wide, to)) return false;
    int exponent = 0;
    const double bits = std::frexp(wide, &exponent) * (1 << FloatRange<To>::digits);
    return bits == std::trunc(bits);
  } else {
    uint64_t size = 0;
    return !number.integer && whole(number, size) && put_integer(size, number.negative, to);
  }
}

template bool put_number<float>(const JsonNumber&, float&);
template bool put_number<double>(const JsonNumber&, double&);
template bool put_number<Half>(const JsonNumber&, Half&);
template bool put_number<BFloat>(const JsonNumber&, BFloat&);
template bool put_number<Bool>(const JsonNumber&, Bool&);
template bool put_number<int8_t>(const JsonNumber&, int8_t&);
template bool put_number<int16_t>(const JsonNumber&, int16_t&);
template bool put_number<int32_t>(const JsonNumber&, int32_t&);
template bool put_number<int64_t>(const JsonNumber&, int64_t&);
template bool put_number<uint8_t>(const JsonNumber&, uint8_t&);
template bool put_number<uint16_t>(const JsonNumber&, uint16_t&);
template bool put_number<uint32_t>(const JsonNumber&, uint32_t&);
template bool put_number<uint64_t>(const JsonNumber&, uint64_t&);

}  // namespace sexpgpu::dataio
