// A field as it comes from Python: name, column, dtype and shape.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <tuple>
#include <vector>

#include "field.h"

namespace sexpgpu::dataio {

using FieldTuple = std::tuple<std::string, std::string, std::string, std::vector<int64_t>>;

inline Field field_of(const FieldTuple& tuple) {
  const auto& [name, column, dtype_name, shape] = tuple;
  const auto dtype = dtype_named(dtype_name);
  if (!dtype) throw nanobind::value_error(("no dtype is named " + dtype_name).c_str());
  int64_t elements = 1;
  for (const int64_t size : shape)
    if (size < 1 || __builtin_mul_overflow(elements, size, &elements) || elements > (int64_t{1} << 40))
      throw nanobind::value_error("a shape has sizes of at least 1, and at most 2^40 values");
  return {name, column, *dtype, shape, elements, elements * info(*dtype).bytes};
}

inline std::vector<Field> fields_of(const std::vector<FieldTuple>& tuples) {
  std::vector<Field> fields;
  for (const auto& tuple : tuples) fields.push_back(field_of(tuple));
  return fields;
}

}  // namespace sexpgpu::dataio
