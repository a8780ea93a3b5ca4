// What an open Parquet file and its streams share.
#pragma once

#include <parquet/metadata.h>
#include <parquet/properties.h>

#include <memory>
#include <vector>

#include "encodings/parquet_columns.h"
#include "reader.h"

namespace sexpgpu::dataio {

// Constant once the file is open, so streams on several threads share it.
struct ParquetFile {
  std::shared_ptr<ByteSource> source;
  std::shared_ptr<parquet::FileMetaData> metadata;
  std::vector<Field> fields;
  std::vector<ColumnPlan> plans;  // one a field
  std::vector<int> leaves;        // the leaf columns of all plans, ascending
};

// Checksums are verified where a file has them.
parquet::ReaderProperties reader_properties();

// No threads of Arrow's: the loader's own decode many row groups at once.
parquet::ArrowReaderProperties arrow_properties(int64_t batch_rows);

std::unique_ptr<BlockStream> open_stream(std::shared_ptr<const ParquetFile> file, const std::vector<int>& row_groups,
                                         int64_t piece_bytes);

}  // namespace sexpgpu::dataio
