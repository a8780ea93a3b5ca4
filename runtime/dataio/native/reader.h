// The seam between encodings and everything else: a file is a list of blocks, a block decodes into typed columns.
//
// An encoding implements `Reader` and `BlockStream` and adds itself to `open_reader`. The rest of the loader knows
// neither Arrow nor any format. Readers are used by several threads at once; a stream belongs to one job at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fault.h"
#include "field.h"
#include "source.h"

namespace sexpgpu::dataio {

// A unit that can be decoded without its neighbours: a row group. `bytes` is what the wanted columns take in the file.
struct Block {
  int64_t rows;
  int64_t bytes;
  bool operator==(const Block&) const = default;
};

// `rows` rows of one field, one after another, in the field's dtype; `keep` owns the memory.
struct Column {
  const uint8_t* data = nullptr;
  std::shared_ptr<const void> keep;
};

// Consecutive rows, checked: every field in its declared shape and dtype. A `fault` belongs to the row after the last.
struct Piece {
  int64_t rows = 0;
  std::vector<Column> columns;
  std::optional<Fault> fault;
};

// Decodes consecutive blocks a bounded number of rows at a time.
class BlockStream {
 public:
  virtual ~BlockStream() = default;

  // Decodes the next rows and returns how many, 0 at the end. Throws FaultError on damage.
  virtual int64_t advance() = 0;

  // The rows of the last `advance`, converted and checked. Called at most once for each; rows nobody asks for are
  // never converted.
  virtual Piece convert() = 0;
};

class Reader {
 public:
  virtual ~Reader() = default;
  virtual const std::vector<Block>& blocks() const = 0;

  // About how much memory it takes while it is open.
  virtual int64_t held_bytes() const = 0;

  // `blocks` are ascending indices of blocks that hold rows; a piece holds about `piece_bytes`, at least one row.
  virtual std::unique_ptr<BlockStream> stream(const std::vector<int>& blocks, int64_t piece_bytes) const = 0;
};

// Opens a source of the named encoding and checks its columns against the fields. Throws FaultError.
std::shared_ptr<Reader> open_reader(const std::string& encoding, std::shared_ptr<ByteSource> source,
                                    const std::vector<Field>& fields);

}  // namespace sexpgpu::dataio
