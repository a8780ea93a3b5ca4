// What Parquet's library throws, as a fault of the file.
#pragma once

#include <string>

#include "encodings/arrow_file.h"
#include "fault.h"
#include "source.h"

namespace sexpgpu::dataio {

// Call inside a `catch`: rethrows what is being handled as a FaultError. A failed read of `file`, which may be null, is
// the cause where there was one; otherwise the bytes are damaged, and `doing` says what was tried (`reading row group
// 3`).
[[noreturn]] void rethrow_as_fault(const ArrowFile* file, const std::string& name, const std::string& doing);

// The fault of a file whose footer could not be read: not Parquet at all, cut, encrypted or damaged.
Fault footer_fault(ByteSource& source, const std::string& reason);

}  // namespace sexpgpu::dataio
