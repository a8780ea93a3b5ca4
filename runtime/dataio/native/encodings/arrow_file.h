// A ByteSource as Arrow wants files, with the ranges that a decode job read ahead.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <memory>
#include <optional>
#include <vector>

#include "fault.h"
#include "source.h"

namespace sexpgpu::dataio {

// Belongs to one job at a time. Arrow reports failures as a status of text, so the fault itself is kept here.
class ArrowFile final : public arrow::io::RandomAccessFile {
 public:
  explicit ArrowFile(std::shared_ptr<ByteSource> source) : source_(std::move(source)) {}

  // Reads `ranges` (ascending, disjoint, inside the file) into memory; later reads inside one are slices of it.
  void load(const std::vector<arrow::io::ReadRange>& ranges);

  const std::optional<Fault>& fault() const { return fault_; }

  arrow::Result<int64_t> GetSize() override { return source_->size(); }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count) override;
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t count, bool, void* out) override {
    return ReadAt(position, count, out);
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t count, bool) override {
    return ReadAt(position, count);
  }
  arrow::Result<int64_t> Read(int64_t count, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t count) override;
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

 private:
  struct Range {
    int64_t offset;
    std::shared_ptr<arrow::Buffer> bytes;
  };

  // How much of the wanted bytes the file has; a status when the place itself is impossible.
  arrow::Result<int64_t> clip(int64_t position, int64_t count) const;
  const Range* loaded(int64_t position, int64_t count) const;

  std::shared_ptr<ByteSource> source_;
  std::vector<Range> ranges_;
  std::optional<Fault> fault_;
  int64_t position_ = 0;
  bool closed_ = false;
};

}  // namespace sexpgpu::dataio
