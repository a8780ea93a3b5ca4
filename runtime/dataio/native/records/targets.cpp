#include "records/targets.h"

#include <algorithm>
#include <cstring>

namespace sexpgpu::dataio {

Targets::Targets(const std::vector<Field>& fields) : rows(fields.size()), fields_(fields) {
  for (size_t f = 0; f < fields.size(); ++f)
    top_.push_back({static_cast<int>(f), fields[f].column.data(), fields[f].column.size()});
}

void Targets::match(const std::vector<Wanted>& wanted, const char* key, size_t length, int depth,
                    std::vector<int>& here, std::vector<Wanted>& below) {
  here.clear();
  below.clear();
  for (const Wanted& want : wanted) {
    if (want.length < length || std::memcmp(want.rest, key, length) != 0) continue;
    int& found = depth_of_[want.field];
    if (want.length == length) {
      if (found == depth)
        refuse(&fields_[want.field], "E-DATA-006", "its key " + quoted(fields_[want.field].column) + " stands twice",
               "leave one of them in the record");
      if (found < depth) continue;
      found = depth;
      here.push_back(want.field);
    } else if (want.rest[length] == '.' && found > depth) {
      below.push_back({want.field, want.rest + length + 1, want.length - length - 1});
    }
  }
}

void Targets::end_record(const std::string& what) const {
  for (size_t f = 0; f < fields_.size(); ++f)
    if (depth_of_[f] == kMissing)
      refuse(&fields_[f], "E-DATA-001", "the " + what + " has no key " + quoted(fields_[f].column));
}

std::string index_text(int64_t index, const std::vector<int64_t>& shape) {
  if (shape.empty()) return "";
  std::vector<int64_t> at(shape.size());
  for (size_t d = shape.size(); d-- > 0; index /= shape[d]) at[d] = index % shape[d];
  return " at " + shape_text(at);
}

std::string excerpt(const uint8_t* data, int64_t count) {
  std::string text(reinterpret_cast<const char*>(data), std::min<int64_t>(count, 40));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return count > 40 ? text + "…" : text;
}

}  // namespace sexpgpu::dataio
