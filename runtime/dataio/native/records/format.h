// A format of records: how they are told apart in a text, and how one becomes a row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "field.h"
#include "records/targets.h"

namespace sexpgpu::dataio {

// The part of a text that holds whole records; `lines` counts the ends of lines in it. `bad` is set where what follows
// the records can be no record whatever came behind it, `unfinished` where the text ends inside one.
struct Cut {
  int64_t bytes = 0;
  int64_t records = 0;
  int64_t lines = 0;
  const char* bad = nullptr;
  bool unfinished = false;
};

class RecordParser {
 public:
  virtual ~RecordParser() = default;

  // Parses the next record of [at, end) into the rows of the targets and returns the byte behind it, or null where
  // none is left. `lines` counts the ends of lines passed over. Throws BadRecord, with `at` moved behind the record.
  virtual bool parse(const uint8_t*& at, const uint8_t* end, Targets& targets, int64_t& lines) = 0;

  // The keys of the record that was parsed last, which lacks one (E-DATA-001) and is well-formed else.
  virtual std::vector<std::string> keys() = 0;
};

class Format {
 public:
  virtual ~Format() = default;

  // What is called a record in messages, `line` or `record`.
  virtual bool has_lines() const = 0;

  // How many bytes at the beginning of a file are no part of a record.
  virtual int64_t preamble(const uint8_t* data, int64_t size) const = 0;

  // Cuts off whole records of [data, data + size), of which there are at most `most`; `last`: no text follows, so what
  // is there must end with a record. `seen` bytes were looked at before, in a shorter text that held no whole record.
  virtual Cut cut(const uint8_t* data, int64_t size, int64_t most, bool last, int64_t seen) const = 0;

  virtual std::unique_ptr<RecordParser> parser() const = 0;
};

const Format& json_format();
const Format& msgpack_format();

// How deep arrays and maps may be nested in a record.
inline constexpr int kMaxDepth = 200;

}  // namespace sexpgpu::dataio
