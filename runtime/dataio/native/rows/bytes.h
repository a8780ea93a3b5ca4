// Rows that were stored as bytes: little-endian, in C order, of exactly the row's size.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "field.h"
#include "reader.h"
#include "rows/flatten.h"

namespace sexpgpu::dataio {

// The rows of a binary array without nulls; `bad` is set where a size is wrong, and for a bool byte above 1.
struct BytesRows {
  Column column;
  int64_t rows;
  std::optional<BadRow> bad;
};

BytesRows bytes_rows(const std::shared_ptr<arrow::Array>& values, const Field& field);

}  // namespace sexpgpu::dataio
