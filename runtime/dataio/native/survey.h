// What a file holds, whatever its fields: its size, its version, and its blocks with their records.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "field.h"
#include "reader.h"
#include "store.h"

namespace sexpgpu::dataio {

struct Survey {
  int64_t bytes = 0;
  std::string version{};
  std::vector<Block> blocks{};
};

// Counts the records of a file. Ends early, with what it has, when `stop` is set. Throws FaultError.
Survey survey(const Store& store, const std::string& path, const std::string& name, const std::string& encoding,
              const std::atomic<bool>& stop);

// Opens a file and reads its first records into the fields. Throws FaultError for columns or records that are no such
// rows.
void peek(const Store& store, const std::string& path, const std::string& name, const std::string& encoding,
          const std::vector<Field>& fields);

}  // namespace sexpgpu::dataio
