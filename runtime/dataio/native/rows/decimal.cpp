// Decimals through their text: correctly rounded floats without arithmetic of our own, exact integers.
#include <arrow/array.h>
#include <arrow/util/decimal.h>

#include <charconv>
#include <cmath>
#include <string>

#include "rows/convert.h"
#include "rows/storage.h"

namespace sexpgpu::dataio {
namespace {

// A decimal's text is plain or scientific (`1.5`, `2E+7`), which from_chars reads in any locale.
template <typename Float>
bool parse_float(const std::string& text, Float& out) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), out);
  if (result.ec == std::errc()) return true;
  // Out of range either way: a float64 holds every decimal there is, and tells an overflow from an underflow.
  double wide = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), wide).ec != std::errc()) return false;
  out = std::copysign(Float{0}, static_cast<Float>(std::copysign(1.0, wide)));
  return std::fabs(wide) < 1;
}

template <typename To>
bool parse(const std::string& text, const std::string* whole, To& out) {
  if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
    return parse_float(text, out);
  } else if constexpr (is_small_float<To>) {
    double wide = 0;
    return parse_float(text, wide) && cast(wide, out);
  } else {
    if (whole == nullptr) return false;
    if constexpr (std::is_same_v<To, Bool>) {
      out.value = *whole == "1";
      return *whole == "0" || *whole == "1";
    } else {
      const auto result = std::from_chars(whole->data(), whole->data() + whole->size(), out);
      return result.ec == std::errc() && result.ptr == whole->data() + whole->size();
    }
  }
}

// The digits of the value as an integer, if it is one.
bool whole_text(const uint8_t* bytes, int width, int32_t scale, std::string& out) {
  arrow::Decimal256 value;
  switch (width) {
    case 4: value = arrow::Decimal256(arrow::Decimal32(bytes).ToIntegerString()); break;
    case 8: value = arrow::Decimal256(arrow::Decimal64(bytes).ToIntegerString()); break;
    case 16: value = arrow::Decimal256(arrow::Decimal128(bytes)); break;
    default: value = arrow::Decimal256(bytes);
  }
  const auto whole = value.Rescale(scale, 0);
  if (!whole.ok()) return false;
  out = whole->ToIntegerString();
  return true;
}

}  // namespace

Converted convert_decimals(const arrow::Array& values, DType dtype) {
  const auto& type = static_cast<const arrow::DecimalType&>(*values.type());
  const auto& array = static_cast<const arrow::FixedSizeBinaryArray&>(values);
  return with_storage(dtype, [&](auto to) -> Converted {
    using To = decltype(to);
    constexpr bool is_float = std::is_floating_point_v<To> || is_small_float<To>;
    Converted out;
    To* target = reinterpret_cast<To*>(allocate(out.column, values.length() * static_cast<int64_t>(sizeof(To))));
    std::string whole;
    for (int64_t i = 0; i < values.length() && out.bad < 0; ++i) {
      const uint8_t* bytes = array.GetValue(i);
      std::string text;
      if (is_float) {
        switch (type.byte_width()) {
          case 4: text = arrow::Decimal32(bytes).ToString(type.scale()); break;
          case 8: text = arrow::Decimal64(bytes).ToString(type.scale()); break;
          case 16: text = arrow::Decimal128(bytes).ToString(type.scale()); break;
          default: text = arrow::Decimal256(bytes).ToString(type.scale());
        }
      }
      const bool integral = !is_float && whole_text(bytes, type.byte_width(), type.scale(), whole);
      if (!parse(text, integral ? &whole : nullptr, target[i])) out.bad = i;
    }
    return out;
  });
}

}  // namespace sexpgpu::dataio
