// From a dtype to the C++ type that stores it.
#pragma once

#include <cstdint>

#include "field.h"
#include "rows/cast.h"

namespace sexpgpu::dataio {

// Calls `f` with a value of the storage type, to be taken by its type alone.
template <typename F>
auto with_storage(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(float{});
    case DType::bf16: return f(BFloat{});
    case DType::f16: return f(Half{});
    case DType::f64: return f(double{});
    case DType::i8: return f(int8_t{});
    case DType::i16: return f(int16_t{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    case DType::u8: return f(uint8_t{});
    case DType::u16: return f(uint16_t{});
    case DType::u32: return f(uint32_t{});
    case DType::u64: return f(uint64_t{});
    case DType::boolean: return f(Bool{});
  }
  __builtin_unreachable();
}

}  // namespace sexpgpu::dataio
