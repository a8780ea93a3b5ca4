#include "rows/rows.h"

#include <arrow/array.h>
#include <arrow/scalar.h>

#include "rows/bytes.h"
#include "rows/convert.h"

namespace sexpgpu::dataio {
namespace {

// Where the value lies within its row: ` at [3, 1]`.
std::string index_text(int64_t index, const std::vector<int64_t>& shape) {
  if (shape.empty()) return "";
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) at[d] = index % shape[d];
  return " at " + shape_text(at);
}

BadRow refused(const arrow::Array& values, int64_t index, const Field& field) {
  const auto scalar = values.GetScalar(index);
  const std::string text = scalar.ok() ? (*scalar)->ToString() : "?";
  const int64_t row = index / field.elements;
  return {row, "E-DATA-004",
          "its value " + text + index_text(index % field.elements, field.shape) + " (" + values.type()->ToString() +
              ") cannot be represented in " + std::string(info(field.dtype).name),
          "declare a `:dtype` that holds every value; integers are never rounded or wrapped"};
}

}  // namespace

Rows read_rows(const std::shared_ptr<arrow::Array>& array, const Field& field, const Form& form) {
  Flat flat = flatten(array, field, form);
  if (form.encoding == Encoding::bytes) {
    BytesRows rows = bytes_rows(flat.values, field);
    return {std::move(rows.column), rows.bad ? std::move(rows.bad) : std::move(flat.bad)};
  }
  Converted converted = convert(flat.values, field.dtype);
  if (converted.bad >= 0) return {std::move(converted.column), refused(*flat.values, converted.bad, field)};
  return {std::move(converted.column), std::move(flat.bad)};
}

}  // namespace sexpgpu::dataio
