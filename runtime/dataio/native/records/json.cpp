// JSON lines: one object a line.
#include <algorithm>
#include <cstring>
#include <string>

#include "records/format.h"
#include "records/json_rows.h"

namespace sexpgpu::dataio {
namespace {

class JsonParser final : public RecordParser, private JsonRows {
 public:
  bool parse(const uint8_t*& at, const uint8_t* end, Targets& targets, int64_t& lines) override {
    const uint8_t* line_end;
    while (true) {
      if (at >= end) return false;
      const void* found = std::memchr(at, '\n', end - at);
      line_end = found ? static_cast<const uint8_t*>(found) : end;
      enter(at, line_end);
      space();
      if (at_ < line_end) break;
      at = line_end + 1;
      ++lines;
    }
    try {
      record(targets);
    } catch (...) {
      at = line_end + 1;
      throw;
    }
    at = line_end + 1;
    ++lines;
    return true;
  }

  std::vector<std::string> keys() override {
    std::vector<std::string> found;
    at_ = begin_;
    space();
    members(0, [&](const uint8_t* key, int64_t length, bool escaped) {
      found.push_back(text(key, length, escaped));
      skip(0);
    });
    return found;
  }

 private:
  static std::string text(const uint8_t* key, int64_t length, bool escaped) {
    return escaped ? unescaped(key, length) : std::string(reinterpret_cast<const char*>(key), length);
  }

  void record(Targets& targets) {
    if (*at_ != '{') refuse(nullptr, "E-DATA-015", "it is " + what_is(at_) + ", not a JSON object");
    targets_ = &targets;
    object(targets.top(), 0);
    space();
    if (at_ != end_) malformed("text follows the object");
    targets.end_record("object");
  }

  void object(const std::vector<Targets::Wanted>& wanted, int depth) {
    std::vector<int> here;
    std::vector<Targets::Wanted> below;
    members(depth, [&](const uint8_t* key, int64_t length, bool escaped) {
      if (escaped) {
        const std::string plain = text(key, length, true);
        targets_->match(wanted, plain.data(), plain.size(), depth, here, below);
      } else {
        targets_->match(wanted, reinterpret_cast<const char*>(key), length, depth, here, below);
      }
      const uint8_t* const value = at_;
      for (const int field : here) {
        at_ = value;
        read(targets_->fields()[field], targets_->rows[field]);
      }
      if (!below.empty() && *value == '{') {
        at_ = value;
        const std::vector<Targets::Wanted> inner = below;
        object(inner, depth + 1);
      } else if (here.empty()) {
        skip(depth + 1);
      }
    });
  }

  Targets* targets_ = nullptr;
};

class JsonFormat final : public Format {
 public:
  bool has_lines() const override { return true; }

  // A byte-order mark.
  int64_t preamble(const uint8_t* data, int64_t size) const override {
    return size >= 3 && data[0] == 0xef && data[1] == 0xbb && data[2] == 0xbf ? 3 : 0;
  }

  Cut cut(const uint8_t* data, int64_t size, int64_t most, bool last, int64_t seen) const override {
    Cut cut;
    while (cut.records < most && cut.bytes < size) {
      const int64_t from = std::max(cut.bytes, seen);
      const void* found = from < size ? std::memchr(data + from, '\n', size - from) : nullptr;
      if (!found && !last) break;
      const int64_t end = found ? static_cast<const uint8_t*>(found) - data : size;
      int64_t at = cut.bytes;
      while (at < end && is_json_space(data[at])) ++at;
      cut.records += at < end;
      cut.bytes = std::min(end + 1, size);
      cut.lines += 1;
    }
    return cut;
  }

  std::unique_ptr<RecordParser> parser() const override { return std::make_unique<JsonParser>(); }
};

}  // namespace

const Format& json_format() {
  static const JsonFormat format;
  return format;
}

}  // namespace sexpgpu::dataio
