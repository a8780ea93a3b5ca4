#include "rows/bytes.h"

#include <arrow/array.h>

#include <cstring>
#include <string_view>

#include "rows/convert.h"

namespace sexpgpu::dataio {
namespace {

// Rows that follow each other in the array's own memory are taken as they lie there.
template <typename Array>
std::optional<BytesRows> rows_in_place(const std::shared_ptr<arrow::Array>& values, const Field& field) {
  const auto& array = static_cast<const Array&>(*values);
  const int64_t rows = array.length();
  if (rows == 0 || !array.value_data()) return std::nullopt;
  const auto* offsets = array.raw_value_offsets();
  bool good = true;
  for (int64_t row = 0; row < rows; ++row) good &= offsets[row + 1] - offsets[row] == field.bytes;
  if (!good) return std::nullopt;
  return BytesRows{{array.value_data()->data() + offsets[0], values}, rows, std::nullopt};
}

template <typename Array>
BytesRows copy_rows(const arrow::Array& values, const Field& field) {
  const auto& array = static_cast<const Array&>(values);
  BytesRows out{{}, values.length(), std::nullopt};
  uint8_t* to = allocate(out.column, values.length() * field.bytes);
  for (int64_t row = 0; row < values.length(); ++row) {
    const std::string_view bytes = array.GetView(row);
    if (static_cast<int64_t>(bytes.size()) != field.bytes) {
      out.rows = row;
      out.bad = BadRow{row, "E-DATA-003",
                       "it has " + std::to_string(bytes.size()) + " bytes, where " + std::to_string(field.bytes) +
                           " hold " + type_text(field),
                       ""};
      return out;
    }
    std::memcpy(to + row * field.bytes, bytes.data(), bytes.size());
  }
  return out;
}

// A bool is 0 or 1: any other byte would be undefined wherever it is looked at.
void check_bools(BytesRows& out, const Field& field) {
  for (int64_t i = 0; i < out.rows * field.bytes; ++i) {
    if (out.column.data[i] <= 1) continue;
    out.rows = i / field.bytes;
    out.bad = BadRow{out.rows, "E-DATA-004",
                     "its byte " + std::to_string(i % field.bytes) + " is " + std::to_string(out.column.data[i]) +
                         ", and a bool is 0 or 1",
                     ""};
    return;
  }
}

}  // namespace

BytesRows bytes_rows(const std::shared_ptr<arrow::Array>& values, const Field& field) {
  BytesRows out = [&]() -> BytesRows {
    switch (values->type_id()) {
      case arrow::Type::BINARY:
        if (auto rows = rows_in_place<arrow::BinaryArray>(values, field)) return *rows;
        return copy_rows<arrow::BinaryArray>(*values, field);
      case arrow::Type::LARGE_BINARY:
        if (auto rows = rows_in_place<arrow::LargeBinaryArray>(values, field)) return *rows;
        return copy_rows<arrow::LargeBinaryArray>(*values, field);
      case arrow::Type::BINARY_VIEW: return copy_rows<arrow::BinaryViewArray>(*values, field);
      default: return copy_rows<arrow::FixedSizeBinaryArray>(*values, field);
    }
  }();
  if (field.dtype == DType::boolean) check_bools(out, field);
  return out;
}

}  // namespace sexpgpu::dataio
