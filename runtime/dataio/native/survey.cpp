#include "survey.h"

#include <algorithm>

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kPeekBytes = int64_t{64} << 10;  // of rows

}  // namespace

Survey survey(const Store& store, const std::string& path, const std::string& name, const std::string& encoding,
              const std::atomic<bool>& stop) {
  const auto source = store.open(path, name, {});
  const auto reader = open_reader(encoding, source, {}, {});
  if (!reader->counted()) reader->count(stop);
  return {source->size(), source->version(), reader->blocks()};
}

void peek(const Store& store, const std::string& path, const std::string& name, const std::string& encoding,
          const std::vector<Field>& fields) {
  const auto reader = open_reader(encoding, store.open(path, name, {}), fields, {});
  Section section{{}, {0, 0, 0}};
  if (reader->counted()) {
    const auto& blocks = reader->blocks();
    const auto first = std::find_if(blocks.begin(), blocks.end(), [](const Block& block) { return block.rows > 0; });
    if (first == blocks.end()) return;
    section = {{static_cast<int>(first - blocks.begin())}, {}};
  }
  const auto stream = reader->stream(section, kPeekBytes);
  if (const auto job = stream->advance()) {
    if (const Piece piece = job->convert(0); piece.fault) fail(*piece.fault);
  }
}

}  // namespace sexpgpu::dataio
