#include "encodings/parquet_job.h"

#include <arrow/array.h>

#include <algorithm>
#include <cstring>

#include "encodings/parquet_error.h"
#include "rows/convert.h"
#include "rows/rows.h"

namespace sexpgpu::dataio {
namespace {

class ParquetJob final : public Job {
 public:
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

}  // namespace

std::unique_ptr<Job> parquet_job(std::shared_ptr<const ParquetFile> file, const std::vector<int>& row_groups,
                                 std::shared_ptr<arrow::RecordBatch> batch, int64_t first) {
  return std::make_unique<ParquetJob>(std::move(file), row_groups, std::move(batch), first);
}

}  // namespace sexpgpu::dataio
