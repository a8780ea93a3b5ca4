// From a column's arrays to the values of whole rows, one after another: lists are checked and unwrapped.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "field.h"
#include "rows/form.h"

namespace sexpgpu::dataio {

// The first row that is refused, and why: a code of the registry and the rest of a sentence about the row.
struct BadRow {
  int64_t row;
  std::string code;
  std::string found;
  std::string advice;
};

// `rows` rows are good; `values` holds theirs and nothing else, without nulls, dictionaries or extension wrappers.
struct Flat {
  std::shared_ptr<arrow::Array> values;
  int64_t rows = 0;
  std::optional<BadRow> bad;
};

// Unwraps the lists of `column` as the form says. Throws std::bad_alloc, and FaultError for inconsistent arrays.
Flat flatten(std::shared_ptr<arrow::Array> column, const Field& field, const Form& form);

// The array without extension wrappers and dictionaries.
std::shared_ptr<arrow::Array> plain(std::shared_ptr<arrow::Array> array);

// The index of the first null, or -1.
int64_t first_null(const arrow::Array& array);

}  // namespace sexpgpu::dataio
