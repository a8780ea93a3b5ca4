// Fields: what one row holds, as the experiment declares it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sexpgpu::dataio {

enum class DType : uint8_t { f32, bf16, f16, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean };

// The names and widths of the language's dtype table, in the order of the enumeration.
struct DTypeInfo {
  std::string_view name;
  int64_t bytes;
};

inline constexpr DTypeInfo kDTypes[] = {
    {"f32", 4}, {"bf16", 2}, {"f16", 2}, {"f64", 8}, {"i8", 1},  {"i16", 2},  {"i32", 4},
    {"i64", 8}, {"u8", 1},   {"u16", 2}, {"u32", 4}, {"u64", 8}, {"bool", 1},
};

inline const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<int>(dtype)]; }

inline std::optional<DType> dtype_named(std::string_view name) {
  for (int i = 0; i < static_cast<int>(std::size(kDTypes)); ++i)
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

// `shape` is that of one row, empty for a scalar; a row is `bytes` long, in C order, without padding.
struct Field {
  std::string name;
  std::string column;
  DType dtype;
  std::vector<int64_t> shape;
  int64_t elements;
  int64_t bytes;
};

inline int64_t row_bytes(const std::vector<Field>& fields) {
  int64_t total = 0;
  for (const auto& field : fields) total += field.bytes;
  return total;
}

// `[2, 3]`, as the experiment writes it.
inline std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

// `i32 [2, 3]`, or `i32` for a scalar.
inline std::string type_text(const Field& field) {
  const std::string dtype(info(field.dtype).name);
  return field.shape.empty() ? dtype : dtype + " " + shape_text(field.shape);
}

}  // namespace sexpgpu::dataio
