// Numbers of any Arrow type to a field's dtype, checked value by value.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "field.h"
#include "reader.h"

namespace sexpgpu::dataio {

// Whether `convert` takes values of this type at all.
bool is_number(const arrow::DataType& type);

// `bad` is the index of the first value that was refused, or -1; values before it are good.
struct Converted {
  Column column;
  int64_t bad = -1;
};

// Converts all of `values`, which has no nulls. Where dtype and layout agree already, nothing is copied.
Converted convert(const std::shared_ptr<arrow::Array>& values, DType dtype);

// The same for decimals, through their text: floats round, integers must be exact.
Converted convert_decimals(const arrow::Array& values, DType dtype);

// `count` bytes whose owner is the column.
uint8_t* allocate(Column& column, int64_t count);

}  // namespace sexpgpu::dataio
