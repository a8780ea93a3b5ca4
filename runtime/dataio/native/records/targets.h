// Where the values of a record go: one row of each field, and the rules for a number that comes as an integer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fault.h"
#include "field.h"
#include "rows/cast.h"

namespace sexpgpu::dataio {

// A record that is refused: a code, and the rest of a sentence that begins with the file, the record and the field
// (where `field` is set).
struct BadRecord {
  std::string code;
  std::string found;
  std::string advice;
  const Field* field = nullptr;
};

[[noreturn]] inline void refuse(const Field* field, std::string code, std::string found, std::string advice = "") {
  throw BadRecord{std::move(code), std::move(found), std::move(advice), field};
}

inline constexpr char kRefusedNumber[] =
    "declare a `:dtype` that holds every value; integers are never rounded or wrapped";

// The integer of this size and sign into a dtype, exactly, or false.
template <typename To>
inline bool put_integer(uint64_t size, bool negative, To& to) {
  if (!negative) return cast<To>(size, to);
  if (size > uint64_t{1} << 63) return false;
  return cast<To>(static_cast<int64_t>(uint64_t{0} - size), to);
}

// Where the fields of a record are found: each by its whole column name first, then as a member of maps within.
class Targets {
 public:
  explicit Targets(const std::vector<Field>& fields);

  const std::vector<Field>& fields() const { return fields_; }

  // `rows[f]` is where field f's row goes.
  void begin_record() { depth_of_.assign(fields_.size(), kMissing); }
  std::vector<uint8_t*> rows;

  // The fields that are wanted in a map, each with what is left of its column name.
  struct Wanted {
    int field;
    const char* rest;
    size_t length;
  };
  const std::vector<Wanted>& top() const { return top_; }

  // Sorts out a key of a map at `depth`: `here` are the fields whose value it has, `below` those in its members.
  void match(const std::vector<Wanted>& wanted, const char* key, size_t length, int depth, std::vector<int>& here,
             std::vector<Wanted>& below);

  // Refuses a record that lacks a field; `what` is what its format calls a record.
  void end_record(const std::string& what) const;

 private:
  static constexpr int kMissing = 1 << 20;
  const std::vector<Field>& fields_;
  std::vector<Wanted> top_;
  std::vector<int> depth_of_;  // of the map in which each field was found
};

// ` at [3, 1]`: where value `index` of a row stands; nothing for a scalar.
std::string index_text(int64_t index, const std::vector<int64_t>& shape);

// A number as it stands in the data, shortened.
std::string excerpt(const uint8_t* data, int64_t count);

}  // namespace sexpgpu::dataio
