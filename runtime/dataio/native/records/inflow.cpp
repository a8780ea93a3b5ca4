#include "records/inflow.h"

#include <algorithm>

namespace sexpgpu::dataio {
namespace {

class PlainInflow final : public Inflow {
 public:
  PlainInflow(std::shared_ptr<ByteSource> source, int64_t offset)
      : source_(std::move(source)), begin_(offset), at_(offset) {}

  int64_t read(int64_t count, Buffer& out) override {
    const int64_t get = std::min(count, source_->size() - at_);
    if (get <= 0) return 0;
    source_->read(at_, get, out.room(get));
    out.grew(get);
    at_ += get;
    return get;
  }

  int64_t seam(int64_t position) override { return begin_ + position; }

 private:
  std::shared_ptr<ByteSource> source_;
  int64_t begin_;
  int64_t at_;
};

}  // namespace

std::unique_ptr<Inflow> plain_inflow(std::shared_ptr<ByteSource> source, int64_t offset) {
  return std::make_unique<PlainInflow>(std::move(source), offset);
}

std::unique_ptr<Inflow> open_inflow(Compression compression, std::shared_ptr<ByteSource> source, int64_t offset,
                                    const ZstdSeekTable* table) {
  source = own_view(source);
  switch (compression) {
    case Compression::none: return plain_inflow(std::move(source), offset);
    case Compression::gzip: return gzip_inflow(std::move(source), offset);
    case Compression::zstd: return zstd_inflow(std::move(source), offset, table);
  }
  __builtin_unreachable();
}

}  // namespace sexpgpu::dataio
