// One column of a piece: from an Arrow array to checked rows of a field.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "field.h"
#include "reader.h"
#include "rows/flatten.h"
#include "rows/form.h"

namespace sexpgpu::dataio {

// Rows before `bad` are good, and `column` holds at least those.
struct Rows {
  Column column;
  std::optional<BadRow> bad;
};

Rows read_rows(const std::shared_ptr<arrow::Array>& array, const Field& field, const Form& form);

}  // namespace sexpgpu::dataio
