// A file in a far store, through fetches: ranges at once, and ahead where it is read in order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "remote/fetch.h"
#include "source.h"

namespace sexpgpu::dataio {

// What a remote file holds at most of bytes that were read ahead.
inline constexpr int64_t kRemoteHeldBytes = int64_t{16} << 20;

// With `size` and `version` known nothing is asked of the store here: the first read tells whether they are right.
std::shared_ptr<ByteSource> open_remote(std::shared_ptr<FetchQueue> queue, const std::string& uri,
                                        const std::string& name, int64_t size, const std::string& version);

}  // namespace sexpgpu::dataio
