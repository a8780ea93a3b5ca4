#include "records/json_rows.h"

#include <cstring>
#include <limits>
#include <string>

#include "records/json_number.h"
#include "rows/storage.h"

namespace sexpgpu::dataio {

void JsonRows::read(const Field& field, uint8_t* row) {
  with_storage(field.dtype, [&](auto storage) {
    read_row<decltype(storage)>(field, row);
    return 0;
  });
}

template <typename To>
void JsonRows::read_row(const Field& field, uint8_t* row) {
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
  while (is_json_space(*inner)) ++inner;
  // One flat list of all values, or lists nested to the shape.
  if (*inner != '[' || field.shape.size() == 1) {
    values<To>(field, row, 0, field.elements, begin);
  } else {
    level<To>(field, row, 0, 0, field.elements, begin);
  }
}

template <typename To>
void JsonRows::level(const Field& field, uint8_t* row, size_t axis, int64_t first, int64_t count,
                     const uint8_t* begin) {
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
void JsonRows::values(const Field& field, uint8_t* row, int64_t first, int64_t count,
                     const uint8_t* begin) {
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
    while (is_json_space(*at)) ++at;
  }
  at_ = at;
  close(field, begin);
}

void JsonRows::close(const Field& field, const uint8_t* begin) {
  space();
  if (*at_ == ',') other_shape(field, begin);
  if (*at_ != ']') malformed("a comma or the end of an array is missing");
  ++at_;
}

// One number or bool.
template <typename To>
void JsonRows::value(const Field& field, uint8_t* to, int64_t index) {
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
bool JsonRows::special(To& to, const uint8_t* begin) {
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

void JsonRows::other_value(const Field& field, int64_t index) {
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

void JsonRows::single_value(const Field& field) {
  skip(0);
  refuse(&field, "E-DATA-003", "it has a single value");
}

// The value that begins at `begin` has another shape than the field.
void JsonRows::other_shape(const Field& field, const uint8_t* begin) {
  at_ = begin;
  skip(0);
  refuse(&field, "E-DATA-003", "it has " + found_shape(begin));
}

}  // namespace sexpgpu::dataio
