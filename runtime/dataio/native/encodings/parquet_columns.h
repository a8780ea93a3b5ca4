// Which columns of a Parquet file the fields are read from.
#pragma once

#include <parquet/arrow/schema.h>

#include <string>
#include <vector>

#include "field.h"
#include "rows/form.h"

namespace sexpgpu::dataio {

// A field's place in a file: the names from the top-level column down through structs, and the leaves below.
struct ColumnPlan {
  std::vector<std::string> path;
  std::vector<int> leaves;
  std::string type;
  Form form;
};

// One plan a field, in order. Throws FaultError naming `file`: no such column, two of one name, an unreadable type.
std::vector<ColumnPlan> plan_columns(const parquet::arrow::SchemaManifest& manifest, const std::vector<Field>& fields,
                                     const std::string& file);

}  // namespace sexpgpu::dataio
