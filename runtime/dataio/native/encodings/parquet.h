// Parquet, decoded by Arrow C++.
#pragma once

#include <memory>
#include <vector>

#include "reader.h"

namespace sexpgpu::dataio {

std::shared_ptr<Reader> open_parquet(std::shared_ptr<ByteSource> source, const std::vector<Field>& fields);

}  // namespace sexpgpu::dataio
