// Bytes by range: the one verb the readers ask of a store.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sexpgpu::dataio {

// A range that is wanted, and where its bytes go.
struct Span {
  int64_t offset;
  int64_t count;
  uint8_t* out;
};

// Reads are thread-safe and whole: `read` fills `out` or throws FaultError (E-STORE).
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual int64_t size() const = 0;
  virtual void read(int64_t offset, int64_t count, uint8_t* out) = 0;

  // All of several ranges; a source far away fetches them at once.
  virtual void read_all(const std::vector<Span>& spans) {
    for (const Span& span : spans) read(span.offset, span.count, span.out);
  }

  // For a reader that goes its own way through the file: the same bytes, read ahead for it alone. Null where reading
  // ahead is no matter.
  virtual std::shared_ptr<ByteSource> view() { return nullptr; }

  // The name as the user wrote it, for messages.
  virtual const std::string& name() const = 0;

  // What tells this file from another of the same name, as its store says it: an etag. Empty where there is none.
  virtual const std::string& version() const {
    static const std::string none;
    return none;
  }
};

inline std::shared_ptr<ByteSource> own_view(const std::shared_ptr<ByteSource>& source) {
  auto view = source->view();
  return view ? view : source;
}

// Every byte read from any source of one loader is added to `counter`.
using ByteCounter = std::shared_ptr<std::atomic<int64_t>>;

// A local file. Throws FaultError when it is missing, denied or no file.
std::shared_ptr<ByteSource> open_local(const std::string& path, const std::string& name, ByteCounter counter);

}  // namespace sexpgpu::dataio
