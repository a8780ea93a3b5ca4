#include "rows/convert.h"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include <new>

#include "rows/storage.h"

namespace sexpgpu::dataio {
namespace {

template <typename To, typename From>
Converted convert_array(const From* in, int64_t count) {
  Converted out;
  To* to = reinterpret_cast<To*>(allocate(out.column, count * static_cast<int64_t>(sizeof(To))));
  // One flag for the whole run keeps the loop free of branches; only a failure pays for finding its place.
  bool good = true;
  for (int64_t i = 0; i < count; ++i) good &= cast(in[i], to[i]);
  if (!good)
    for (int64_t i = 0; i < count && out.bad < 0; ++i)
      if (!cast(in[i], to[i])) out.bad = i;
  return out;
}

template <typename From>
Converted convert_from(const From* in, int64_t count, DType dtype, const std::shared_ptr<arrow::Array>& owner) {
  return with_storage(dtype, [&](auto to) -> Converted {
    using To = decltype(to);
    if constexpr (std::is_same_v<From, To>)
      return {{reinterpret_cast<const uint8_t*>(in), owner}, -1};
    else
      return convert_array<To>(in, count);
  });
}

// Bits to a byte each, which is how a bool field is stored and what the other conversions start from.
Column unpack(const arrow::Array& values) {
  Column out;
  uint8_t* to = allocate(out, values.length());
  const uint8_t* bits = values.data()->buffers[1] ? values.data()->buffers[1]->data() : nullptr;
  for (int64_t i = 0; i < values.length(); ++i) to[i] = arrow::bit_util::GetBit(bits, values.offset() + i);
  return out;
}

}  // namespace

uint8_t* allocate(Column& column, int64_t count) {
  auto buffer = arrow::AllocateBuffer(count);
  if (!buffer.ok()) throw std::bad_alloc();
  std::shared_ptr<arrow::Buffer> shared = std::move(*buffer);
  column.data = shared->data();
  uint8_t* bytes = shared->mutable_data();
  column.keep = std::move(shared);
  return bytes;
}

bool is_number(const arrow::DataType& type) {
  return type.id() == arrow::Type::BOOL || arrow::is_integer(type.id()) || arrow::is_floating(type.id()) ||
         arrow::is_decimal(type.id());
}

Converted convert(const std::shared_ptr<arrow::Array>& values, DType dtype) {
  const auto& data = *values->data();
  const int64_t count = values->length();
  switch (values->type_id()) {
    case arrow::Type::BOOL: {
      Column bytes = unpack(*values);
      if (dtype == DType::boolean) return {std::move(bytes), -1};
      return convert_from(reinterpret_cast<const Bool*>(bytes.data), count, dtype, nullptr);
    }
    case arrow::Type::INT8: return convert_from(data.GetValues<int8_t>(1), count, dtype, values);
    case arrow::Type::INT16: return convert_from(data.GetValues<int16_t>(1), count, dtype, values);
    case arrow::Type::INT32: return convert_from(data.GetValues<int32_t>(1), count, dtype, values);
    case arrow::Type::INT64: return convert_from(data.GetValues<int64_t>(1), count, dtype, values);
    case arrow::Type::UINT8: return convert_from(data.GetValues<uint8_t>(1), count, dtype, values);
    case arrow::Type::UINT16: return convert_from(data.GetValues<uint16_t>(1), count, dtype, values);
    case arrow::Type::UINT32: return convert_from(data.GetValues<uint32_t>(1), count, dtype, values);
    case arrow::Type::UINT64: return convert_from(data.GetValues<uint64_t>(1), count, dtype, values);
    case arrow::Type::HALF_FLOAT: return convert_from(data.GetValues<Half>(1), count, dtype, values);
    case arrow::Type::FLOAT: return convert_from(data.GetValues<float>(1), count, dtype, values);
    case arrow::Type::DOUBLE: return convert_from(data.GetValues<double>(1), count, dtype, values);
    default: return convert_decimals(*values, dtype);
  }
}

}  // namespace sexpgpu::dataio
