// msgpack: one map a record, one record behind the other.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <string>

#include "records/format.h"
#include "records/msgpack_run.h"
#include "records/msgpack_walk.h"
#include "rows/storage.h"

namespace sexpgpu::dataio {

namespace {

// Parses records that `cut` has walked over: every size that is stated lies inside.
class MsgpackParser final : public RecordParser {
 public:
  bool parse(const uint8_t*& at, const uint8_t* end, Targets& targets, int64_t&) override {
    if (at >= end) return false;
    end_ = end;
    begin_ = at_ = at;
    targets_ = &targets;
    try {
      record(targets);
    } catch (...) {
      msgpack_walk(at, end);
      throw;
    }
    at = at_;
    return true;
  }

  std::vector<std::string> keys() override {
    std::vector<std::string> found;
    uint64_t count = 0;
    int header = 0;
    msgpack_map(begin_, count, header);
    at_ = begin_ + header;
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t length = 0;
      if (msgpack_text(at_, length, header) || msgpack_binary(at_, length, header))
        found.emplace_back(reinterpret_cast<const char*>(at_ + header), length);
      skip();
      skip();
    }
    return found;
  }

 private:
  void skip() { msgpack_walk(at_, end_); }

  void record(Targets& targets) {
    uint64_t keys;
    int header;
    if (!msgpack_map(at_, keys, header)) refuse(nullptr, "E-DATA-015", "it is " + what_is(at_) + ", not a msgpack map");
    map(targets.top(), 0);
    targets.end_record("map");
  }

  void map(const std::vector<Targets::Wanted>& wanted, int depth) {
    if (depth > kMaxDepth)
      refuse(nullptr, "E-DATA-015", "it is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    uint64_t keys = 0;
    int header = 0;
    msgpack_map(at_, keys, header);
    at_ += header;
    std::vector<int> here;
    std::vector<Targets::Wanted> below;
    for (uint64_t i = 0; i < keys; ++i) {
      uint64_t length = 0;
      if (!msgpack_text(at_, length, header) && !msgpack_binary(at_, length, header)) {
        skip();  // numbers and the like are nobody's column name
        skip();
        continue;
      }
      const char* const key = reinterpret_cast<const char*>(at_ + header);
      at_ += header + static_cast<int64_t>(length);
      targets_->match(wanted, key, length, depth, here, below);
      const uint8_t* const value = at_;
      for (const int field : here) {
        at_ = value;
        read(field);
      }
      uint64_t inner;
      if (!below.empty() && msgpack_map(value, inner, header)) {
        at_ = value;
        const std::vector<Targets::Wanted> members = below;
        map(members, depth + 1);
      } else if (here.empty()) {
        skip();
      }
    }
  }

  void read(int index) {
    const Field& field = targets_->fields()[index];
    uint8_t* const row = targets_->rows[index];
    uint64_t bytes = 0;
    int header = 0;
    const bool binary = msgpack_binary(at_, bytes, header);
    if (binary || (!field.shape.empty() && msgpack_text(at_, bytes, header))) {
      if (bytes != static_cast<uint64_t>(field.bytes))
        refuse(&field, "E-DATA-003",
               "it has " + std::to_string(bytes) + " bytes, where " + std::to_string(field.bytes) + " hold " +
                   type_text(field));
      std::memcpy(row, at_ + header, bytes);
      at_ += header + static_cast<int64_t>(bytes);
      if (field.dtype == DType::boolean) check_bools(field, row);
      return;
    }
    with_storage(field.dtype, [&](auto storage) {
      read_row<decltype(storage)>(field, row);
      return 0;
    });
  }

  static void check_bools(const Field& field, const uint8_t* row) {
    for (int64_t i = 0; i < field.bytes; ++i)
      if (row[i] > 1)
        refuse(&field, "E-DATA-004",
               "its byte " + std::to_string(i) + " is " + std::to_string(row[i]) + ", and a bool is 0 or 1");
  }

  template <typename To>
  void read_row(const Field& field, uint8_t* row) {
    const uint8_t* const begin = at_;
    uint64_t items = 0;
    int header = 0;
    const bool list = msgpack_array(at_, items, header);
    if (field.shape.empty()) {
      if (list) other_shape(field, begin);
      value<To>(field, row, 0);
      return;
    }
    if (!list) {
      if (is_number(*at_)) refuse(&field, "E-DATA-003", "it has a single value");
      other_value(field, -1);
    }
    uint64_t inner = 0;
    int inner_header = 0;
    const bool nested = items > 0 && msgpack_array(at_ + header, inner, inner_header);
    if (!nested || field.shape.size() == 1)
      values<To>(field, row, 0, field.elements, begin);
    else
      level<To>(field, row, 0, 0, field.elements, begin);
  }

  template <typename To>
  void level(const Field& field, uint8_t* row, size_t axis, int64_t first, int64_t count, const uint8_t* begin) {
    const int64_t wanted = field.shape[axis];
    if (axis + 1 == field.shape.size()) {
      values<To>(field, row, first, wanted, begin);
      return;
    }
    list(field, wanted, first, begin);
    for (int64_t i = 0; i < wanted; ++i)
      level<To>(field, row, axis + 1, first + i * (count / wanted), count / wanted, begin);
  }

  // At the first item of a list of the wanted length.
  void list(const Field& field, int64_t wanted, int64_t first, const uint8_t* begin) {
    uint64_t items = 0;
    int header = 0;
    if (!msgpack_array(at_, items, header)) {
      if (*at_ == 0xc0) other_value(field, first);
      other_shape(field, begin);
    }
    if (items != static_cast<uint64_t>(wanted)) other_shape(field, begin);
    at_ += header;
  }

  template <typename To>
  void values(const Field& field, uint8_t* row, int64_t first, int64_t count, const uint8_t* begin) {
    list(field, count, first, begin);
    uint8_t* to = row + first * static_cast<int64_t>(sizeof(To));
    const uint8_t* at = at_;
    for (int64_t i = 0; i < count;) {
      if (count - i >= kMsgpackRun && read_eight<To>(at, to)) {
        i += kMsgpackRun;
        to += kMsgpackRun * static_cast<int64_t>(sizeof(To));
        continue;
      }
      for (const int64_t stop = std::min(i + kMsgpackRun, count); i < stop; ++i, to += sizeof(To)) {
        To stored;
        // The common numbers: non-negative, of one to three bytes.
        if (*at < 0x80 && cast<To>(*at, stored)) {
          std::memcpy(to, &stored, sizeof(To));
          ++at;
        } else if (*at == 0xcd && cast<To>(msgpack_number<uint16_t>(at + 1), stored)) {
          std::memcpy(to, &stored, sizeof(To));
          at += 3;
        } else {
          at_ = at;
          uint64_t items;
          int header;
          if (msgpack_array(at, items, header)) other_shape(field, begin);
          value<To>(field, to, first + i);
          at = at_;
        }
      }
    }
    at_ = at;
  }

  static bool is_number(uint8_t tag) {
    return tag < 0x80 || tag >= 0xe0 || tag == 0xc2 || tag == 0xc3 || (tag >= 0xca && tag <= 0xd3);
  }

  // One number or bool.
  template <typename To>
  void value(const Field& field, uint8_t* to, int64_t index) {
    To stored;
    const uint8_t* const at = at_;
    const uint8_t tag = *at;
    if (!is_number(tag)) other_value(field, index);
    bool good;
    if (tag < 0x80) good = cast<To>(static_cast<uint64_t>(tag), stored);
    else if (tag >= 0xe0) good = cast<To>(static_cast<int64_t>(static_cast<int8_t>(tag)), stored);
    else if (tag <= 0xc3) good = cast<To>(Bool{static_cast<uint8_t>(tag == 0xc3)}, stored);
    else if (tag == 0xca) good = cast<To>(std::bit_cast<float>(static_cast<uint32_t>(big_endian(at + 1, 4))), stored);
    else if (tag == 0xcb) good = cast<To>(std::bit_cast<double>(big_endian(at + 1, 8)), stored);
    else if (tag <= 0xcf) good = cast<To>(big_endian(at + 1, 1 << (tag - 0xcc)), stored);
    else good = cast<To>(signed_value(at, 1 << (tag - 0xd0)), stored);
    if (!good)
      refuse(&field, "E-DATA-004",
             "its value " + number_text(at) + index_text(index, field.shape) + " cannot be represented in " +
                 std::string(info(field.dtype).name),
             kRefusedNumber);
    std::memcpy(to, &stored, sizeof(To));
    at_ += kMsgpackSize[tag];
  }

  static int64_t signed_value(const uint8_t* at, int bytes) {
    return static_cast<int64_t>(big_endian(at + 1, bytes) << (64 - 8 * bytes)) >> (64 - 8 * bytes);
  }

  static std::string number_text(const uint8_t* at) {
    const uint8_t tag = *at;
    if (tag < 0x80) return std::to_string(tag);
    if (tag >= 0xe0) return std::to_string(static_cast<int8_t>(tag));
    if (tag <= 0xc3) return tag == 0xc3 ? "true" : "false";
    char text[40];
    if (tag == 0xca) {
      const auto bits = static_cast<uint32_t>(big_endian(at + 1, 4));
      std::snprintf(text, sizeof(text), "%.9g (f32)", std::bit_cast<float>(bits));
      return text;
    }
    if (tag == 0xcb) {
      std::snprintf(text, sizeof(text), "%.17g (f64)", std::bit_cast<double>(big_endian(at + 1, 8)));
      return text;
    }
    if (tag <= 0xcf) return std::to_string(big_endian(at + 1, 1 << (tag - 0xcc)));
    return std::to_string(signed_value(at, 1 << (tag - 0xd0)));
  }

  static std::string what_is(const uint8_t* at) {
    uint64_t count;
    int header;
    if (msgpack_map(at, count, header)) return "a map";
    if (msgpack_array(at, count, header)) return "an array";
    if (msgpack_text(at, count, header)) return "a text";
    if (msgpack_binary(at, count, header)) return "binary";
    if (*at == 0xc0) return "nil";
    return is_number(*at) ? "a number" : "an extension";
  }

  [[noreturn]] void other_value(const Field& field, int64_t index) {
    const std::string where = index < 0 ? "" : index_text(index, field.shape);
    if (*at_ == 0xc0)
      refuse(&field, "E-DATA-005", where.empty() ? "it is nil" : "its value" + where + " is nil",
             "remove the records with nils, or fill them in");
    refuse(&field, "E-DATA-002", (where.empty() ? "it is " : "its value" + where + " is ") + what_is(at_),
           "numbers, bools, arrays of them and binary are read");
  }

  [[noreturn]] void other_shape(const Field& field, const uint8_t* begin) {
    std::vector<int64_t> lengths;
    measure(begin, 0, lengths);
    std::string text;
    for (const int64_t length : lengths) {
      if (!text.empty()) text += ", ";
      text += length < 0 ? "lists of different lengths" : std::to_string(length);
      if (length < 0) break;
    }
    refuse(&field, "E-DATA-003", "it has [" + text + "]");
  }

  // The lengths of nested arrays, -1 where those of a level differ. Returns the byte behind the value.
  const uint8_t* measure(const uint8_t* at, size_t depth, std::vector<int64_t>& lengths) {
    uint64_t items = 0;
    int header = 0;
    if (!msgpack_array(at, items, header) || depth > kMaxDepth) {
      msgpack_walk(at, end_);
      return at;
    }
    if (lengths.size() <= depth) lengths.push_back(static_cast<int64_t>(items));
    else if (lengths[depth] != static_cast<int64_t>(items)) lengths[depth] = -1;
    at += header;
    for (uint64_t i = 0; i < items; ++i) at = measure(at, depth + 1, lengths);
    return at;
  }

  const uint8_t* begin_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  Targets* targets_ = nullptr;
};

class MsgpackFormat final : public Format {
 public:
  bool has_lines() const override { return false; }
  int64_t preamble(const uint8_t*, int64_t) const override { return 0; }

  Cut cut(const uint8_t* data, int64_t size, int64_t most, bool last, int64_t) const override {
    Cut cut;
    const uint8_t* at = data;
    const uint8_t* const end = data + size;
    while (cut.records < most && at < end) {
      const Walked walked = msgpack_walk(at, end);
      if (walked == Walked::bad) cut.bad = "it holds the byte C1, which is no msgpack";
      if (walked == Walked::unfinished) cut.unfinished = last;
      if (walked != Walked::whole) break;
      ++cut.records;
    }
    cut.bytes = at - data;
    return cut;
  }

  std::unique_ptr<RecordParser> parser() const override { return std::make_unique<MsgpackParser>(); }
};

}  // namespace

const Format& msgpack_format() {
  static const MsgpackFormat format;
  return format;
}

}  // namespace sexpgpu::dataio
