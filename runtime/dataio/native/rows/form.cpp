#include "rows/form.h"

#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "rows/convert.h"

namespace sexpgpu::dataio {
namespace {

bool is_bytes(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::BINARY_VIEW:
    case arrow::Type::FIXED_SIZE_BINARY: return true;
    default: return false;
  }
}

bool is_text(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW: return true;
    default: return false;
  }
}

Fault unsupported(const Field& field, const arrow::DataType& type, const std::string& place) {
  Fault fault{.code = "E-DATA-002",
              .message = place + " has the type " + type.ToString() + ", from which the field " +
                         quoted(":" + field.name) + " cannot be read"};
  if (is_text(type))
    fault.advice = "store numbers, lists of numbers or binary; texts are not read as bytes";
  else if (type.id() == arrow::Type::STRUCT)
    fault.advice = "name a member of the struct: `:from \"" + field.column + ".MEMBER\"`";
  else
    fault.advice = "numbers, bools, decimals, lists of them and binary are read";
  return fault;
}

}  // namespace

std::shared_ptr<arrow::DataType> storage_type(std::shared_ptr<arrow::DataType> type) {
  while (type->id() == arrow::Type::EXTENSION)
    type = static_cast<const arrow::ExtensionType&>(*type).storage_type();
  return type;
}

std::shared_ptr<arrow::DataType> list_item(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::FIXED_SIZE_LIST:
    case arrow::Type::LIST_VIEW:
    case arrow::Type::LARGE_LIST_VIEW: return static_cast<const arrow::BaseListType&>(type).value_type();
    default: return nullptr;
  }
}

Form form_of(const Field& field, const std::shared_ptr<arrow::DataType>& type, const std::string& place) {
  Form form;
  size_t depth = 0;
  auto leaf = storage_type(type);
  while (auto item = list_item(*leaf)) {
    leaf = storage_type(item);
    ++depth;
  }
  if (leaf->id() == arrow::Type::DICTIONARY)
    leaf = storage_type(static_cast<const arrow::DictionaryType&>(*leaf).value_type());
  if (is_bytes(*leaf) && depth == 0) {
    form.encoding = Encoding::bytes;
    return form;
  }
  if (leaf->id() == arrow::Type::NA)
    fail({.code = "E-DATA-005",
          .message = place + " holds nothing but nulls, where the field " + quoted(":" + field.name) +
                     " wants values"});
  if (!is_number(*leaf)) fail(unsupported(field, *type, place));

  if (depth == field.shape.size()) {
    form.lengths = field.shape;
  } else if (depth == 1 && !field.shape.empty()) {
    form.lengths = {field.elements};
  } else {
    fail({.code = "E-DATA-003",
          .message = place + " has the type " + type->ToString() + ", a row of " + std::to_string(depth) +
                     (depth == 1 ? " dimension" : " dimensions") + "; the field " + quoted(":" + field.name) +
                     " wants " + type_text(field),
          .advice = field.shape.empty() ? "declare the length of the lists in `:shape`"
                                        : "nested lists of this shape, or one flat list of " +
                                              std::to_string(field.elements) + " values, are read"});
  }
  return form;
}

}  // namespace sexpgpu::dataio
