// A batch of rows as Arrow holds them, to be converted.
#pragma once

#include <arrow/record_batch.h>

#include <memory>
#include <vector>

#include "encodings/parquet_file.h"

namespace sexpgpu::dataio {

// `first` counts from the first row of the first of `row_groups`.
std::unique_ptr<Job> parquet_job(std::shared_ptr<const ParquetFile> file, const std::vector<int>& row_groups,
                                 std::shared_ptr<arrow::RecordBatch> batch, int64_t first);

}  // namespace sexpgpu::dataio
