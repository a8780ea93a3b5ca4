// Opens a Parquet file: the footer, its row groups, the columns that the fields are read from.
#include "encodings/parquet.h"

#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <set>

#include "encodings/parquet_error.h"
#include "encodings/parquet_file.h"

namespace sexpgpu::dataio {
namespace {

class ParquetReader final : public Reader {
 public:
  ParquetReader(std::shared_ptr<ByteSource> source, const std::vector<Field>& fields,
                const std::vector<Block>& given)
      : file_(std::make_shared<ParquetFile>()) {
    file_->source = std::move(source);
    file_->fields = fields;
    read_footer();
    for (const Block& block : blocks_) rows_ += block.rows;
    if (rows_ == 0) {  // nothing will be read: such a file may have any columns
      if (!given.empty()) compare(given);
      return;
    }
    plan();
    measure();
    if (!given.empty()) compare(given);
  }

  bool counted() const override { return true; }
  const std::vector<Block>& blocks() const override { return blocks_; }
  void count(const std::atomic<bool>&) override {}

  // A footer of many row groups, parsed into objects: measured as six to seven times its size in the file.
  int64_t held_bytes() const override { return 8 * static_cast<int64_t>(file_->metadata->size()); }

  std::unique_ptr<BlockStream> stream(const Section& section, int64_t piece_bytes) const override {
    if (!whole_) return open_stream(file_, section.blocks, piece_bytes);
    std::vector<int> row_groups;
    for (int i = 0; i < file_->metadata->num_row_groups(); ++i)
      if (file_->metadata->RowGroup(i)->num_rows() > 0) row_groups.push_back(i);
    return open_stream(file_, row_groups, piece_bytes);
  }

 private:
  void read_footer() {
    const auto file = std::make_shared<ArrowFile>(file_->source);
    try {
      const auto reader = parquet::ParquetFileReader::Open(file, reader_properties());
      file_->metadata = reader->metadata();
    } catch (const std::exception& error) {
      if (file->fault()) fail(*file->fault());
      fail(footer_fault(*file_->source, error.what()));
    }
    const auto& metadata = *file_->metadata;
    int64_t total = 0;
    for (int i = 0; i < metadata.num_row_groups(); ++i) {
      const int64_t rows = metadata.RowGroup(i)->num_rows();
      // A file of more than 2^48 rows is a damaged number; below that, sums cannot overflow.
      if (rows < 0 || rows > (int64_t{1} << 48))
        bad_footer("row group " + std::to_string(i) + " states an impossible number of rows");
      blocks_.push_back({rows, 0});
      total += rows;
    }
    if (total != metadata.num_rows())
      bad_footer("it states " + std::to_string(metadata.num_rows()) + " rows, its row groups " + std::to_string(total));
  }

  void plan() {
    ArrowFile file(file_->source);
    try {
      parquet::arrow::SchemaManifest manifest;
      const auto status = parquet::arrow::SchemaManifest::Make(
          file_->metadata->schema(), file_->metadata->key_value_metadata(), arrow_properties(1), &manifest);
      if (!status.ok()) throw std::runtime_error(status.message());
      file_->plans = plan_columns(manifest, file_->fields, file_->source->name());
    } catch (...) {
      rethrow_as_fault(&file, file_->source->name(), "reading its schema");
    }
    std::set<int> leaves;
    for (const auto& plan : file_->plans) leaves.insert(plan.leaves.begin(), plan.leaves.end());
    if (file_->fields.empty())
      for (int leaf = 0; leaf < file_->metadata->num_columns(); ++leaf) leaves.insert(leaf);
    file_->leaves.assign(leaves.begin(), leaves.end());
  }

  // The bytes of the wanted columns, which must lie inside the file.
  void measure() {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].rows == 0) continue;
      try {
        const auto group = file_->metadata->RowGroup(static_cast<int>(i));
        for (const int leaf : file_->leaves) {
          const auto chunk = group->ColumnChunk(leaf);
          const int64_t start = chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0
                                    ? std::min(chunk->dictionary_page_offset(), chunk->data_page_offset())
                                    : chunk->data_page_offset();
          const int64_t bytes = chunk->total_compressed_size();
          if (start < 0 || bytes < 0 || start > file_->source->size() || bytes > file_->source->size() - start)
            bad_footer("row group " + std::to_string(i) + " reaches past the end of the file");
          blocks_[i].bytes += bytes;
          blocks_[i].offset = blocks_[i].offset < 0 ? start : std::min(blocks_[i].offset, start);
        }
      } catch (const FaultError&) {
        throw;
      } catch (const std::exception& error) {
        bad_footer(error.what());
      }
    }
  }

  // Another party has counted the rows: row groups that were read before, or all of the file in one block.
  void compare(const std::vector<Block>& given) {
    int64_t rows = 0;
    for (const Block& block : given) rows += block.rows;
    if (given.size() == blocks_.size()) return;  // the caller compares them
    if (rows != rows_)
      fail({.code = "E-DATA-032",
            .message = quoted(file_->source->name()) + " holds " + std::to_string(rows_) + " rows, and " +
                       std::to_string(rows) + " were counted in it",
            .advice = "count the files again, or restore the file"});
    whole_ = given.size() == 1 && blocks_.size() != 1;
    if (given.size() == 1) blocks_ = given;
  }

  [[noreturn]] void bad_footer(const std::string& reason) {
    fail({.code = "E-STORE-004",
          .message = quoted(file_->source->name()) + " has a damaged footer",
          .notes = {reason},
          .advice = "copy or write the file again"});
  }

  std::shared_ptr<ParquetFile> file_;
  std::vector<Block> blocks_;
  int64_t rows_ = 0;
  bool whole_ = false;  // one block stands for all row groups
};

}  // namespace

std::shared_ptr<Reader> open_parquet(std::shared_ptr<ByteSource> source, const std::vector<Field>& fields,
                                     const std::vector<Block>& given) {
  return std::make_shared<ParquetReader>(std::move(source), fields, given);
}

}  // namespace sexpgpu::dataio
