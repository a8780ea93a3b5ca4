// Cuts a file's text into jobs of whole records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reader.h"
#include "records/format.h"
#include "records/inflow.h"

namespace sexpgpu::dataio {

// What an open file and its streams share.
struct RecordFile {
  std::shared_ptr<ByteSource> source;
  std::vector<Field> fields;
  const Format& format;
  Compression compression;
  std::optional<ZstdSeekTable> table{};
};

// Decodes from `start`, up to `records` records (-1: to the end of the file). `last`: the file has to end behind them.
// `fields` of the file may be empty: then the jobs only count.
std::unique_ptr<BlockStream> record_stream(std::shared_ptr<const RecordFile> file, const Start& start, int64_t records,
                                           bool last, int64_t piece_bytes);

}  // namespace sexpgpu::dataio
