// Decodes row groups of a Parquet file piece by piece.
//
// A run of row groups that is small in the file is read ahead in a few large reads; a large row group is read through
// a window for each column, so that memory stays bounded however large it is.
#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <cstring>

#include "encodings/parquet_error.h"
#include "encodings/parquet_file.h"
#include "encodings/parquet_job.h"
#include "rows/convert.h"
#include "rows/rows.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kReadAheadBytes = int64_t{16} << 20;  // a run of row groups up to this is read at once
constexpr int64_t kHoleBytes = int64_t{64} << 10;       // ranges this near are one read
constexpr int64_t kWindowBytes = int64_t{1} << 20;      // of each column of a larger row group
constexpr int64_t kMaxRows = int64_t{1} << 16;          // of a piece, however narrow

class ParquetStream final : public BlockStream {
 public:
  ParquetStream(std::shared_ptr<const ParquetFile> file, const std::vector<int>& row_groups, int64_t piece_bytes)
      : file_(std::move(file)), row_groups_(row_groups), source_(std::make_shared<ArrowFile>(own_view(file_->source))) {
    for (const int group : row_groups_) left_ += file_->metadata->RowGroup(group)->num_rows();
    guard([&] { open(piece_bytes); });
  }

  std::unique_ptr<Job> advance() override {
    if (left_ == 0) return nullptr;
    std::shared_ptr<arrow::RecordBatch> batch;
    guard([&] {
      auto next = batches_->Next();
      if (!next.ok()) throw std::runtime_error(next.status().message());
      batch = std::move(*next);
      if (!batch || batch->num_rows() == 0) throw std::runtime_error("it ends before the rows its footer states");
      if (batch->num_rows() > left_) throw std::runtime_error("it has more rows than its footer states");
    });
    const int64_t first = first_;
    left_ -= batch->num_rows();
    first_ += batch->num_rows();
    return parquet_job(file_, row_groups_, std::move(batch), first);
  }

 private:
  void open(int64_t piece_bytes) {
    auto properties = reader_properties();
    int64_t bytes = 0;
    for (const int group : row_groups_)
      for (const int leaf : file_->leaves)
        bytes += file_->metadata->RowGroup(group)->ColumnChunk(leaf)->total_compressed_size();
    const bool ahead = bytes <= kReadAheadBytes;
    if (!ahead) {
      properties.enable_buffered_stream();
      properties.set_buffer_size(kWindowBytes);
    }
    auto raw = parquet::ParquetFileReader::Open(source_, properties, file_->metadata);
    if (ahead) {
      auto ranges = raw->GetReadRanges(row_groups_, file_->leaves, kHoleBytes, kReadAheadBytes);
      if (!ranges.ok()) throw std::runtime_error(ranges.status().message());
      source_->load(*ranges);
    }
    auto made = parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(raw),
                                                 arrow_properties(piece_rows(piece_bytes)));
    if (!made.ok()) throw std::runtime_error(made.status().message());
    reader_ = std::move(*made);
    auto batches = reader_->GetRecordBatchReader(row_groups_, file_->leaves);
    if (!batches.ok()) throw std::runtime_error(batches.status().message());
    batches_ = std::move(*batches);
  }

  // Rows that take about `piece_bytes`, as declared or as stored, whichever is more.
  int64_t piece_rows(int64_t piece_bytes) const {
    int64_t stored = 0;
    for (const int group : row_groups_) {
      const auto metadata = file_->metadata->RowGroup(group);
      for (const int leaf : file_->leaves) {
        const auto chunk = metadata->ColumnChunk(leaf);
        const auto type = file_->metadata->schema()->Column(leaf)->physical_type();
        const bool wide = type == parquet::Type::INT64 || type == parquet::Type::DOUBLE;
        stored += std::max(chunk->total_uncompressed_size(), chunk->num_values() * (wide ? 8 : 4));
      }
    }
    const int64_t row = std::max<int64_t>(row_bytes(file_->fields), stored / std::max<int64_t>(left_, 1));
    return std::clamp<int64_t>(piece_bytes / std::max<int64_t>(row, 1), 1, kMaxRows);
  }

  std::string doing() const {
    std::string text = "reading row group " + std::to_string(row_groups_.front());
    if (row_groups_.size() > 1) text += " to " + std::to_string(row_groups_.back());
    return text;
  }

  template <typename F>
  void guard(F&& f) {
    try {
      f();
    } catch (...) {
      rethrow_as_fault(source_.get(), file_->source->name(), doing());
    }
  }

  std::shared_ptr<const ParquetFile> file_;
  std::vector<int> row_groups_;
  std::shared_ptr<ArrowFile> source_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;  // outlives its batches
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  int64_t first_ = 0;  // of the next batch, counted from the first row group's first row
  int64_t left_ = 0;   // rows not yet decoded
};

}  // namespace

parquet::ReaderProperties reader_properties() {
  parquet::ReaderProperties properties(arrow::default_memory_pool());
  properties.set_page_checksum_verification(true);
  return properties;
}

parquet::ArrowReaderProperties arrow_properties(int64_t batch_rows) {
  parquet::ArrowReaderProperties properties(/*use_threads=*/false);
  properties.set_pre_buffer(false);
  properties.set_batch_size(batch_rows);
  return properties;
}

std::unique_ptr<BlockStream> open_stream(std::shared_ptr<const ParquetFile> file, const std::vector<int>& row_groups,
                                         int64_t piece_bytes) {
  return std::make_unique<ParquetStream>(std::move(file), row_groups, piece_bytes);
}

}  // namespace sexpgpu::dataio
