// The seam between encodings and everything else: a file is cut into jobs, and a job converts into typed columns.
//
// An encoding implements `Reader` and `BlockStream` and adds itself to the table of reader.cpp. The rest of the loader
// knows neither Arrow nor any format. Readers are used by several threads at once. Of a stream, `advance` is called by
// one thread at a time and `ahead` by one thread at a time; jobs convert on any threads, side by side.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fault.h"
#include "field.h"
#include "source.h"

namespace sexpgpu::dataio {

// Where in a file decoding can begin: `record` counts from 0, `line` from 0 (-1: not known). `offset` is a byte of the
// file, or -1 where the encoding finds records by their number alone.
struct Start {
  int64_t offset = -1;
  int64_t record = 0;
  int64_t line = -1;
  bool operator==(const Start&) const = default;
};

// Records that can be decoded without their neighbours: a row group, or what lies between two places at which a
// decoder can start. `bytes` is what the wanted columns take in the file.
struct Block {
  int64_t rows;
  int64_t bytes;
  int64_t offset = -1;
  bool operator==(const Block&) const = default;
};

// `rows` rows of one field, one after another, in the field's dtype; `keep` owns the memory.
struct Column {
  const uint8_t* data = nullptr;
  std::shared_ptr<const void> keep;
};

// A record that was left out, and why; `rows` rows of its piece come before it.
struct Skipped {
  int64_t record;
  int64_t rows;
  Fault fault;
};

// Consecutive rows, checked: every field in its declared shape and dtype. A `fault` belongs to the row after the last.
struct Piece {
  int64_t rows = 0;
  std::vector<Column> columns;
  std::vector<Skipped> skipped;
  std::optional<Fault> fault;
};

// Records that are cut out of the file but not looked at yet. Rows that nobody asks for are never converted.
class Job {
 public:
  virtual ~Job() = default;
  int64_t records = 0;           // how many; the first of them is number `start.record` of the file
  Start start;                   // its offset is -1 where decoding cannot begin at this job

  // Converts and checks all records. Up to `skips` bad ones are left out and listed; the next one is the fault.
  virtual Piece convert(int64_t skips) = 0;
};

// Bytes that can be decompressed apart from the others.
class Ahead {
 public:
  virtual ~Ahead() = default;
  virtual void run() = 0;
};

// Decodes consecutive records a bounded number at a time.
class BlockStream {
 public:
  virtual ~BlockStream() = default;

  // The next records, or null at the end. Throws FaultError on damage.
  virtual std::unique_ptr<Job> advance() = 0;

  // Work for another thread while one is in `advance`: may be asked for where `wants_ahead`, and may be null.
  virtual bool wants_ahead() { return false; }
  virtual std::shared_ptr<Ahead> ahead() { return nullptr; }
};

// What to decode: ascending indices of `blocks`, all with rows; or, of an encoding that has none, from `start` to the
// end of the file.
struct Section {
  std::vector<int> blocks;
  Start start;
};

class Reader {
 public:
  virtual ~Reader() = default;

  // Whether the number of rows is known before they are decoded; then `blocks` is all of the file.
  virtual bool counted() const = 0;
  virtual const std::vector<Block>& blocks() const = 0;

  // Decodes as far as records have to be told apart, after which the file is counted. Stops early when `stop` is set.
  virtual void count(const std::atomic<bool>& stop) = 0;

  // About how much memory it takes while it is open.
  virtual int64_t held_bytes() const = 0;

  // A job holds about `piece_bytes`, at least one row.
  virtual std::unique_ptr<BlockStream> stream(const Section& section, int64_t piece_bytes) const = 0;
};

// Opens a source of the named encoding and checks its columns against the fields as far as its head tells. `blocks`
// are those of a reader that was open before, or of a manifest: the file is counted then. Without fields, the bytes of
// blocks are those of all columns. Throws FaultError.
std::shared_ptr<Reader> open_reader(const std::string& encoding, std::shared_ptr<ByteSource> source,
                                    const std::vector<Field>& fields, const std::vector<Block>& blocks);

// The names that `open_reader` takes.
std::vector<std::string> encodings();

}  // namespace sexpgpu::dataio
