// Bytes by range: the one verb the readers ask of a store.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace sexpgpu::dataio {

// Reads are thread-safe and whole: `read` fills `out` or throws FaultError (E-STORE).
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual int64_t size() const = 0;
  virtual void read(int64_t offset, int64_t count, uint8_t* out) = 0;

  // The name as the user wrote it, for messages.
  virtual const std::string& name() const = 0;
};

// Every byte read from any source of one loader is added to `counter`.
using ByteCounter = std::shared_ptr<std::atomic<int64_t>>;

// A local file. Throws FaultError when it is missing, denied or no file.
std::shared_ptr<ByteSource> open_local(const std::string& path, const std::string& name, ByteCounter counter);

}  // namespace sexpgpu::dataio
