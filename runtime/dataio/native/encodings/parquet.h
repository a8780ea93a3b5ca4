// Parquet, decoded by Arrow C++.
#pragma once

#include <memory>
#include <vector>

#include "reader.h"

namespace sexpgpu::dataio {

// `given`: what is known of its rows beforehand, row group by row group or in one block.
std::shared_ptr<Reader> open_parquet(std::shared_ptr<ByteSource> source, const std::vector<Field>& fields,
                                     const std::vector<Block>& given);

}  // namespace sexpgpu::dataio
