#include "survey.h"

namespace sexpgpu::dataio {

Survey survey(const Store& store, const std::string& path, const std::string& name, const std::string& encoding,
              const std::atomic<bool>& stop) {
  const auto source = store.open(path, name, {});
  const auto reader = open_reader(encoding, source, {}, {});
  if (!reader->counted()) reader->count(stop);
  return {source->size(), source->version(), reader->blocks()};
}

}  // namespace sexpgpu::dataio
