// Where the files of a loader lie: opens them by path, near and far.
#pragma once

#include <memory>
#include <string>

#include "remote/fetch.h"
#include "source.h"

namespace sexpgpu::dataio {

// What is known of a file before it is opened: from a manifest, or from the last time. -1 and empty where nothing is.
struct Expected {
  int64_t bytes = -1;
  std::string version{};
};

class Store {
 public:
  // `fetches` may be null where no file is far.
  explicit Store(std::shared_ptr<FetchQueue> fetches)
      : counter_(std::make_shared<std::atomic<int64_t>>(0)), fetches_(std::move(fetches)) {}

  // Throws FaultError when the file is missing, denied, no file, or not the one expected (E-STORE-007).
  std::shared_ptr<ByteSource> open(const std::string& path, const std::string& name, const Expected& expected) const;

  bool has_far() const { return fetches_ != nullptr; }
  int64_t bytes_read() const;

  // Ends all waits for far bytes with a fault, and those to come until `resume`: before threads are joined.
  void interrupt() const;
  void resume() const;

 private:
  ByteCounter counter_;
  std::shared_ptr<FetchQueue> fetches_;
};

}  // namespace sexpgpu::dataio
