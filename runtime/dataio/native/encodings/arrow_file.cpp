#include "encodings/arrow_file.h"

#include <arrow/util/future.h>

#include <algorithm>
#include <cstring>

namespace sexpgpu::dataio {

void ArrowFile::load(const std::vector<arrow::io::ReadRange>& ranges) {
  std::vector<Span> spans;
  for (const auto& range : ranges) {
    auto buffer = arrow::AllocateBuffer(range.length);
    if (!buffer.ok()) throw std::bad_alloc();
    spans.push_back({range.offset, range.length, (*buffer)->mutable_data()});
    ranges_.push_back({range.offset, std::move(*buffer)});
  }
  source_->read_all(spans);
}

arrow::Result<int64_t> ArrowFile::clip(int64_t position, int64_t count) const {
  if (closed_) return arrow::Status::Invalid("read of a closed file");
  if (position < 0 || count < 0 || position > source_->size())
    return arrow::Status::IOError("read outside the file, at byte ", position);
  return std::min(count, source_->size() - position);
}

const ArrowFile::Range* ArrowFile::loaded(int64_t position, int64_t count) const {
  for (const auto& range : ranges_)
    if (position >= range.offset && position + count <= range.offset + range.bytes->size()) return &range;
  return nullptr;
}

arrow::Result<int64_t> ArrowFile::ReadAt(int64_t position, int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(count, clip(position, count));
  if (const Range* range = loaded(position, count)) {
    std::memcpy(out, range->bytes->data() + (position - range->offset), count);
    return count;
  }
  try {
    source_->read(position, count, static_cast<uint8_t*>(out));
  } catch (const FaultError& error) {
    fault_ = error.fault();
    return arrow::Status::IOError(error.what());
  }
  return count;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowFile::ReadAt(int64_t position, int64_t count) {
  ARROW_ASSIGN_OR_RAISE(count, clip(position, count));
  if (const Range* range = loaded(position, count))
    return arrow::SliceBuffer(range->bytes, position - range->offset, count);
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateBuffer(count));
  ARROW_RETURN_NOT_OK(ReadAt(position, count, buffer->mutable_data()));
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

arrow::Result<int64_t> ArrowFile::Read(int64_t count, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(position_, count, out));
  position_ += got;
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> ArrowFile::Read(int64_t count) {
  ARROW_ASSIGN_OR_RAISE(auto buffer, ReadAt(position_, count));
  position_ += buffer->size();
  return buffer;
}

arrow::Status ArrowFile::Seek(int64_t position) {
  position_ = position;
  return arrow::Status::OK();
}

arrow::Status ArrowFile::Close() {
  closed_ = true;
  ranges_.clear();
  return arrow::Status::OK();
}

}  // namespace sexpgpu::dataio
