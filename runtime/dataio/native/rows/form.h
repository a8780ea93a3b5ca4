// How a column's type can hold a field: decided once a file, from types alone.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fault.h"
#include "field.h"

namespace sexpgpu::dataio {

enum class Encoding : uint8_t {
  numbers,  // `lengths.size()` levels of lists around numbers
  bytes,    // the row's bytes, little-endian
};

// `lengths[d]` is how long every list of level d has to be.
struct Form {
  Encoding encoding = Encoding::numbers;
  std::vector<int64_t> lengths;
};

// The type without extension wrappers around it.
std::shared_ptr<arrow::DataType> storage_type(std::shared_ptr<arrow::DataType> type);

// The item type of any kind of list, null for other types.
std::shared_ptr<arrow::DataType> list_item(const arrow::DataType& type);

// The form, or E-DATA-002 (a type no field can be read from) or E-DATA-003 (lists nested otherwise than the shape).
// `place` names the column in messages.
Form form_of(const Field& field, const std::shared_ptr<arrow::DataType>& type, const std::string& place);

}  // namespace sexpgpu::dataio
