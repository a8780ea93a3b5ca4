// JSON lines: one object a line. Strict (RFC 8259), but for NaN and the infinities where a float field is read.
//
// A line ends with a byte that no value holds, so the parser needs no end to look at: whatever it expects, a line end
// or the zero behind the text is not it.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <string>

#include "records/format.h"
#include "records/json_number.h"
#include "rows/storage.h"

namespace sexpgpu::dataio {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101u;
constexpr uint64_t kTops = 0x8080808080808080u;

inline bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

// The length of the UTF-8 sequence at `at`, 0 where there is none. Surrogates and overlong forms are none.
int sequence(const uint8_t* at) {
  const auto more = [&](int i) { return (at[i] & 0xc0) == 0x80; };
  const uint8_t c = at[0];
  if (c < 0x80) return 1;
  if (c < 0xc2) return 0;
  if (c < 0xe0) return more(1) ? 2 : 0;
  if (c < 0xf0) {
    if (!more(1) || !more(2)) return 0;
    if (c == 0xe0 && at[1] < 0xa0) return 0;
    if (c == 0xed && at[1] > 0x9f) return 0;
    return 3;
  }
  if (c > 0xf4 || !more(1) || !more(2) || !more(3)) return 0;
  if (c == 0xf0 && at[1] < 0x90) return 0;
  if (c == 0xf4 && at[1] > 0x8f) return 0;
  return 4;
}

class JsonParser final : public RecordParser {
 public:
  bool parse(const uint8_t*& at, const uint8_t* end, Targets& targets, int64_t& lines) override {
    const uint8_t* line_end;
    while (true) {
      if (at >= end) return false;
      const void* found = std::memchr(at, '\n', end - at);
      line_end = found ? static_cast<const uint8_t*>(found) : end;
      at_ = at;
      space();
      if (at_ < line_end) break;
      at = line_end + 1;
      ++lines;
    }
    begin_ = at;
    end_ = line_end;
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
    while (*at_ != '}') {
      ++at_;  // the brace, or a comma
      space();
      if (*at_ == '}') break;
      bool escaped = false;
      const auto [key, length] = string(escaped);
      found.push_back(escaped ? unescaped(key, length) : std::string(reinterpret_cast<const char*>(key), length));
      expect(':', "a colon");
      space();
      skip(0);
      space();
    }
    return found;
  }

 private:
  void record(Targets& targets) {
    if (*at_ != '{') refuse(nullptr, "E-DATA-015", "it is " + what_is(at_) + ", not a JSON object");
    targets_ = &targets;
    object(targets.top(), 0);
    space();
    if (at_ != end_) malformed("text follows the object");
    targets.end_record("object");
  }

  [[noreturn]] void malformed(const std::string& what) {
    refuse(nullptr, "E-DATA-015",
           what + ", at byte " + std::to_string(at_ - begin_) + " of the line (" +
               (at_ >= end_ ? "its end" : "`" + excerpt(at_, std::min<int64_t>(end_ - at_, 20)) + "`") + ")");
  }

  void space() {
    while (is_space(*at_)) ++at_;
  }

  void expect(char c, const char* what) {
    space();
    if (*at_ != c) malformed(std::string(what) + " is missing");
    ++at_;
  }

  std::string what_is(const uint8_t* at) const {
    switch (*at) {
      case '{': return "an object";
      case '[': return "an array";
      case '"': return "a text";
      case 't': case 'f': return "a bool";
      case 'n': return "null";
      default: return "a number or no JSON";
    }
  }

  // Past a string whose opening quote is at `at_`; gives what stands between the quotes, and whether it has escapes.
  std::pair<const uint8_t*, int64_t> string(bool& escaped) {
    const uint8_t* const begin = ++at_;
    escaped = false;
    while (true) {
      uint64_t word;
      std::memcpy(&word, at_, 8);
      // Marks quotes, backslashes, control characters and everything beyond ASCII; the lowest mark is exact.
      const uint64_t quote = word ^ (kOnes * '"');
      const uint64_t slash = word ^ (kOnes * '\\');
      const uint64_t marks =
          (((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash) | (word - kOnes * 0x20) | word) & kTops;
      if (marks == 0) {
        at_ += 8;
        continue;
      }
      at_ += std::countr_zero(marks) >> 3;
      const uint8_t c = *at_;
      if (c == '"') return {begin, at_++ - begin};
      if (c == '\\') {
        escaped = true;
        escape();
      } else if (c < 0x20) {
        malformed(at_ >= end_ ? "a text does not end" : "a text holds a control character");
      } else {
        const int length = sequence(at_);
        if (length == 0) malformed("a text holds bytes that are no UTF-8");
        at_ += length;
      }
    }
  }

  void escape() {
    ++at_;
    switch (*at_) {
      case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': ++at_; return;
      case 'u':
        for (int i = 1; i <= 4; ++i)
          if (!std::isxdigit(at_[i])) malformed("a text holds a \\u without four digits");
        at_ += 5;
        return;
      default: malformed("a text holds an unknown escape");
    }
  }

  // The text of a key with escapes. Surrogates that stand alone become what no column name holds.
  static std::string unescaped(const uint8_t* at, int64_t size) {
    std::string out;
    const uint8_t* const end = at + size;
    const auto hex = [](const uint8_t* from) {
      return static_cast<uint32_t>(std::stoul(std::string(reinterpret_cast<const char*>(from), 4), nullptr, 16));
    };
    while (at < end) {
      if (*at != '\\') {
        out += static_cast<char>(*at++);
        continue;
      }
      const char c = static_cast<char>(at[1]);
      at += 2;
      if (c != 'u') {
        const char* const from = std::strchr("bfnrt", c);
        out += from && c ? "\b\f\n\r\t"[from - std::strchr("bfnrt", 'b')] : c;
        continue;
      }
      uint32_t code = hex(at);
      at += 4;
      if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
        const uint32_t low = hex(at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          at += 6;
        }
      }
      if (code < 0x80) {
        out += static_cast<char>(code);
      } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 63));
      } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 63));
        out += static_cast<char>(0x80 | (code & 63));
      } else {
        out += static_cast<char>(0xf0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 63));
        out += static_cast<char>(0x80 | (code >> 6 & 63));
        out += static_cast<char>(0x80 | (code & 63));
      }
    }
    return out;
  }

  void object(const std::vector<Targets::Wanted>& wanted, int depth) {
    if (depth > kMaxDepth) malformed("it is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    ++at_;
    space();
    if (*at_ == '}') {
      ++at_;
      return;
    }
    std::vector<int> here;
    std::vector<Targets::Wanted> below;
    while (true) {
      if (*at_ != '"') malformed("a key is missing");
      bool escaped = false;
      const auto [key, length] = string(escaped);
      expect(':', "a colon");
      space();
      if (escaped) {
        const std::string plain = unescaped(key, length);
        targets_->match(wanted, plain.data(), plain.size(), depth, here, below);
      } else {
        targets_->match(wanted, reinterpret_cast<const char*>(key), length, depth, here, below);
      }
      const uint8_t* const value = at_;
      for (const int field : here) {
        at_ = value;
        read(field);
      }
      if (!below.empty() && *value == '{') {
        at_ = value;
        const std::vector<Targets::Wanted> inner = below;
        object(inner, depth + 1);
      } else if (here.empty()) {
        skip(depth + 1);
      }
      space();
      if (*at_ == ',') {
        ++at_;
        space();
        continue;
      }
      if (*at_ != '}') malformed("a comma or the end of an object is missing");
      ++at_;
      return;
    }
  }

  // Past any value, which has to be well-formed.
  void skip(int depth) {
    if (depth > kMaxDepth) malformed("it is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    bool escaped;
    switch (*at_) {
      case '"': string(escaped); return;
      case '{': object({}, depth); return;
      case '[': {
        ++at_;
        space();
        if (*at_ == ']') {
          ++at_;
          return;
        }
        while (true) {
          skip(depth + 1);
          space();
          if (*at_ == ',') {
            ++at_;
            space();
            continue;
          }
          if (*at_ != ']') malformed("a comma or the end of an array is missing");
          ++at_;
          return;
        }
      }
      case 't': word("true"); return;
      case 'f': word("false"); return;
      case 'n': word("null"); return;
      case 'N': word("NaN"); return;
      case 'I': word("Infinity"); return;
      default: {
        if (at_[0] == '-' && at_[1] == 'I') {
          ++at_;
          word("Infinity");
          return;
        }
        JsonNumber number;
        if (!scan_number(at_, number)) malformed("no JSON value begins here");
        at_ = number.end;
      }
    }
  }

  void word(const char* text) {
    const size_t length = std::strlen(text);
    for (size_t i = 0; i < length; ++i)
      if (at_[i] != static_cast<uint8_t>(text[i])) malformed("no JSON value begins here");
    at_ += length;
  }

  void read(int field) {
    const Field& into = targets_->fields()[field];
    with_storage(into.dtype, [&](auto storage) {
      using To = decltype(storage);
      // A row may lie at any byte, when rows are of an odd size.
      read_row<To>(into, targets_->rows[field]);
      return 0;
    });
  }

  template <typename To>
  void read_row(const Field& field, uint8_t* row) {
    const uint8_t* const begin = at_;
    if (field.shape.empty()) {
      if (*at_ == '[') other_shape(field, begin);
      value<To>(field, row, 0);
      return;
    }
    if (*at_ != '[') {
      if (*at_ != '"' && *at_ != '{' && *at_ != 'n') single_value(field);
      other_value(field, -1);
    }
    const uint8_t* inner = at_ + 1;
    while (is_space(*inner)) ++inner;
    // One flat list of all values, or lists nested to the shape.
    if (*inner != '[' || field.shape.size() == 1) {
      values<To>(field, row, 0, field.elements, begin);
    } else {
      level<To>(field, row, 0, 0, field.elements, begin);
    }
  }

  template <typename To>
  void level(const Field& field, uint8_t* row, size_t axis, int64_t first, int64_t count, const uint8_t* begin) {
    const int64_t items = field.shape[axis];
    if (axis + 1 == field.shape.size()) {
      values<To>(field, row, first, items, begin);
      return;
    }
    if (*at_ != '[') {
      if (*at_ == 'n') other_value(field, first);
      other_shape(field, begin);
    }
    ++at_;
    for (int64_t i = 0; i < items; ++i) {
      space();
      if (*at_ == ']') other_shape(field, begin);
      level<To>(field, row, axis + 1, first + i * (count / items), count / items, begin);
      space();
      if (i + 1 < items) {
        if (*at_ == ']') other_shape(field, begin);
        if (*at_ != ',') malformed("a comma or the end of an array is missing");
        ++at_;
      }
    }
    close(field, begin);
  }

  // A list of `count` values, of which the first is value `first` of the row.
  template <typename To>
  void values(const Field& field, uint8_t* row, int64_t first, int64_t count, const uint8_t* begin) {
    if (*at_ != '[') {
      if (*at_ == 'n') other_value(field, first);
      other_shape(field, begin);
    }
    ++at_;
    space();
    uint8_t* to = row + first * static_cast<int64_t>(sizeof(To));
    const uint8_t* at = at_;  // a local: what is stored through `to` might change a member
    for (int64_t i = 0; i < count; ++i, to += sizeof(To)) {
      uint32_t digits = 0;
      const int length = short_digits(at, digits);
      const uint8_t next = at[length];
      // The common number: short, without a sign, and followed by what may follow.
      To stored;
      if (length > 0 && length < 8 && (at[0] != '0' || length == 1) && (next == ',' || next == ']') &&
          cast<To>(digits, stored)) {
        std::memcpy(to, &stored, sizeof(To));
        at += length;
      } else {
        at_ = at;
        if (*at_ == ']' || *at_ == '[') other_shape(field, begin);
        value<To>(field, to, first + i);
        space();
        at = at_;
      }
      if (i + 1 == count) break;
      if (*at != ',') {
        at_ = at;
        if (*at_ == ']') other_shape(field, begin);
        malformed("a comma or the end of an array is missing");
      }
      ++at;
      if (*at == ' ') ++at;
      while (is_space(*at)) ++at;
    }
    at_ = at;
    close(field, begin);
  }

  void close(const Field& field, const uint8_t* begin) {
    space();
    if (*at_ == ',') other_shape(field, begin);
    if (*at_ != ']') malformed("a comma or the end of an array is missing");
    ++at_;
  }

  // One number or bool.
  template <typename To>
  void value(const Field& field, uint8_t* to, int64_t index) {
    To stored;
    const uint8_t* const begin = at_;
    bool good;
    switch (*at_) {
      case 't': case 'f': {
        const bool truth = *at_ == 't';
        word(truth ? "true" : "false");
        good = cast<To>(Bool{truth}, stored);
        break;
      }
      case 'N': case 'I': good = special(stored, begin); break;
      case '"': case '{': case 'n': other_value(field, index);
      default: {
        if (at_[0] == '-' && at_[1] == 'I') {
          good = special(stored, begin);
          break;
        }
        JsonNumber number;
        if (!scan_number(at_, number)) malformed("no JSON value begins here");
        good = put_number(number, stored);
        at_ = number.end;
      }
    }
    if (!good)
      refuse(&field, "E-DATA-004",
             "its value " + excerpt(begin, at_ - begin) + index_text(index, field.shape) +
                 " cannot be represented in " + std::string(info(field.dtype).name),
             kRefusedNumber);
    std::memcpy(to, &stored, sizeof(To));
  }

  // NaN, Infinity or -Infinity.
  template <typename To>
  bool special(To& to, const uint8_t* begin) {
    double value = std::numeric_limits<double>::quiet_NaN();
    if (*begin == 'N') {
      word("NaN");
    } else {
      at_ += *begin == '-';
      word("Infinity");
      value = *begin == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    }
    return cast<To>(value, to);
  }

  [[noreturn]] void other_value(const Field& field, int64_t index) {
    const uint8_t* const begin = at_;
    skip(0);  // what is no JSON at all is told as such
    const std::string where = index < 0 ? "" : index_text(index, field.shape);
    if (*begin == 'n')
      refuse(&field, "E-DATA-005", where.empty() ? "it is null" : "its value" + where + " is null",
             "remove the records with nulls, or fill them in");
    refuse(&field, "E-DATA-002",
           (where.empty() ? "it is " : "its value" + where + " is ") + what_is(begin),
           "numbers, bools and arrays of them are read");
  }

  [[noreturn]] void single_value(const Field& field) {
    skip(0);
    refuse(&field, "E-DATA-003", "it has a single value");
  }

  // The value that begins at `begin` has another shape than the field.
  [[noreturn]] void other_shape(const Field& field, const uint8_t* begin) {
    at_ = begin;
    skip(0);
    refuse(&field, "E-DATA-003", "it has " + found_shape(begin));
  }

  // `[3, 4]`: the lengths of nested arrays as found, as far as those of one level agree. Of well-formed JSON.
  std::string found_shape(const uint8_t* begin) {
    std::vector<int64_t> lengths;
    std::vector<bool> uniform;
    std::vector<int64_t> counts;  // items so far of the arrays that are open
    for (at_ = begin;;) {
      space();
      if (*at_ == '[') {
        counts.push_back(0);
        ++at_;
        space();
        if (*at_ != ']') {
          counts.back() = 1;
          continue;
        }
      } else if (*at_ == ',') {
        ++counts.back();
        ++at_;
        continue;
      } else if (*at_ != ']') {
        skip(0);
        if (counts.empty()) break;
        continue;
      }
      ++at_;
      const size_t level = counts.size() - 1;
      if (lengths.size() <= level) {
        lengths.resize(level + 1, -1);
        uniform.resize(level + 1, true);
      }
      if (lengths[level] >= 0 && lengths[level] != counts.back()) uniform[level] = false;
      lengths[level] = counts.back();
      counts.pop_back();
      if (counts.empty()) break;
    }
    std::string text;
    for (size_t level = 0; level < lengths.size(); ++level) {
      if (!uniform[level]) return "[" + text + (text.empty() ? "" : ", ") + "lists of different lengths]";
      text += (text.empty() ? "" : ", ") + std::to_string(lengths[level]);
    }
    return "[" + text + "]";
  }

  const uint8_t* at_ = nullptr;
  const uint8_t* begin_ = nullptr;
  const uint8_t* end_ = nullptr;
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
      while (at < end && is_space(data[at])) ++at;
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
