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
#include "rows/convert.h"
#include "rows/rows.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kReadAheadBytes = int64_t{16} << 20;  // a run of row groups up to this is read at once
constexpr int64_t kHoleBytes = int64_t{64} << 10;       // ranges this near are one read
constexpr int64_t kWindowBytes = int64_t{1} << 20;      // of each column of a larger row group
constexpr int64_t kMaxRows = int64_t{1} << 16;          // of a piece, however narrow

// A batch of rows as Arrow holds them, to be converted.
class ParquetJob final : public Job {
 public:
  // `first` counts from the first row of the first row group of the stream.
  ParquetJob(std::shared_ptr<const ParquetFile> file, const std::vector<int>& row_groups,
             std::shared_ptr<arrow::RecordBatch> batch, int64_t first)
      : file_(std::move(file)), row_groups_(row_groups), batch_(std::move(batch)), first_(first) {
    records = batch_->num_rows();
    start.record = place(first).in_file;
  }

  Piece convert(int64_t skips) override {
    std::vector<Piece> parts;
    Piece all;
    int64_t at = 0;
    // All rows at once, in good files. Behind a bad row in small steps that grow again: what is refused again and
    // again must not be converted again and again.
    for (int64_t step = records; at < records; step = std::min(2 * step, records - at)) {
      Piece part = some(at, std::min(step, records - at));
      at += part.rows;
      all.rows += part.rows;
      std::optional<Fault> bad = std::move(part.fault);
      if (part.rows > 0) parts.push_back(std::move(part));
      if (!bad) continue;
      if (static_cast<int64_t>(all.skipped.size()) >= skips) {
        all.fault = std::move(bad);
        break;
      }
      all.skipped.push_back({start.record + at, all.rows, std::move(*bad)});
      ++at;
      step = 1;
    }
    join(parts, all);
    return all;
  }

 private:
  struct Place {
    int64_t in_file;
    int row_group;
    int64_t in_group;
  };

  // Rows [at, at + count) of the batch, up to the first bad one.
  Piece some(int64_t at, int64_t count) const {
    Piece piece;
    piece.rows = count;
    const auto batch = at == 0 && count == records ? batch_ : batch_->Slice(at, count);
    try {
      for (size_t i = 0; i < file_->fields.size(); ++i) {
        Rows rows = member(*batch, i);
        if (rows.bad && rows.bad->row < piece.rows) {
          piece.rows = rows.bad->row;
          piece.fault = describe(*rows.bad, at, i);
        }
        piece.columns.push_back(std::move(rows.column));
      }
    } catch (...) {
      rethrow_as_fault(nullptr, file_->source->name(), "converting row " + std::to_string(start.record + at));
    }
    return piece;
  }

  void join(std::vector<Piece>& parts, Piece& all) const {
    if (parts.size() == 1) {
      all.columns = std::move(parts[0].columns);
      return;
    }
    for (size_t f = 0; f < file_->fields.size(); ++f) {
      const int64_t row = file_->fields[f].bytes;
      uint8_t* to = allocate(all.columns.emplace_back(), all.rows * row);
      for (const Piece& part : parts) {
        std::memcpy(to, part.columns[f].data, part.rows * row);
        to += part.rows * row;
      }
    }
  }

  // The rows of field `i`: through the structs down to its array, none of which may be null.
  Rows member(const arrow::RecordBatch& batch, size_t i) const {
    const ColumnPlan& plan = file_->plans[i];
    std::shared_ptr<arrow::Array> array = batch.GetColumnByName(plan.path[0]);
    std::optional<BadRow> null;
    for (size_t step = 1; array && step < plan.path.size(); ++step) {
      array = plain(std::move(array));
      if (const int64_t at = first_null(*array); at >= 0) {
        null = BadRow{at, "E-DATA-005", "its " + quoted(plan.path[step - 1]) + " is null",
                      "remove the rows with nulls, or fill them in"};
        array = array->Slice(0, at);
      }
      const auto& parent = static_cast<const arrow::StructArray&>(*array);
      array = parent.GetFieldByName(plan.path[step]);
    }
    if (!array) throw std::runtime_error("the column " + file_->fields[i].column + " is not there");
    Rows rows = read_rows(array, file_->fields[i], plan.form);
    if (!rows.bad) rows.bad = std::move(null);
    return rows;
  }

  Fault describe(const BadRow& bad, int64_t at, size_t i) const {
    const Field& field = file_->fields[i];
    const Place found = place(first_ + at + bad.row);
    return {.code = bad.code,
            .message = quoted(file_->source->name()) + " row " + std::to_string(found.in_file) + ": the field " +
                       quoted(":" + field.name) + " wants " + type_text(field) + ", " + bad.found,
            .notes = {"row group " + std::to_string(found.row_group) + ", its row " + std::to_string(found.in_group) +
                          "; rows and row groups count from 0",
                      "column " + quoted(field.column) + " of type " + file_->plans[i].type},
            .advice = bad.advice};
  }

  Place place(int64_t row) const {
    size_t at = 0;
    while (row >= file_->metadata->RowGroup(row_groups_[at])->num_rows())
      row -= file_->metadata->RowGroup(row_groups_[at++])->num_rows();
    int64_t in_file = row;
    for (int group = 0; group < row_groups_[at]; ++group) in_file += file_->metadata->RowGroup(group)->num_rows();
    return {in_file, row_groups_[at], row};
  }

  std::shared_ptr<const ParquetFile> file_;
  std::vector<int> row_groups_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  int64_t first_;
};

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
    return std::make_unique<ParquetJob>(file_, row_groups_, std::move(batch), first);
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
