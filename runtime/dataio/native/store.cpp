#include "store.h"

#include "fault.h"
#include "remote/remote_file.h"

namespace sexpgpu::dataio {

std::shared_ptr<ByteSource> Store::open(const std::string& path, const std::string& name,
                                        const Expected& expected) const {
  const bool far = path.starts_with("s3://");
  // With size and etag known the first read checks both; else the opening does.
  const bool known = expected.bytes >= 0 && !expected.version.empty();
  auto source = far ? open_remote(fetches_, path, name, known ? expected.bytes : -1, expected.version)
                    : open_local(path, name, counter_);
  if (expected.bytes >= 0 && source->size() != expected.bytes)
    fail({.code = "E-STORE-007",
          .message = quoted(name) + " has " + std::to_string(source->size()) + " bytes, and " +
                     std::to_string(expected.bytes) + " are expected",
          .advice = "write new data under a new name, and its manifest again"});
  return source;
}

int64_t Store::bytes_read() const {
  return counter_->load(std::memory_order_relaxed) + (fetches_ ? fetches_->bytes_fetched() : 0);
}

void Store::interrupt() const {
  if (fetches_) fetches_->interrupt();
}

void Store::resume() const {
  if (fetches_) fetches_->resume();
}

}  // namespace sexpgpu::dataio
