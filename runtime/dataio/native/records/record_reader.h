// Files of JSON lines or of msgpack maps, plain or compressed.
#pragma once

#include <memory>
#include <vector>

#include "reader.h"
#include "records/format.h"
#include "records/inflow.h"

namespace sexpgpu::dataio {

std::shared_ptr<Reader> open_records(std::shared_ptr<ByteSource> source, const std::vector<Field>& fields,
                                     const std::vector<Block>& blocks, const Format& format, Compression compression);

}  // namespace sexpgpu::dataio
