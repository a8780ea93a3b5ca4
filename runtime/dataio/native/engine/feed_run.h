// What a feed has under way: runs, and the records cut out of them.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "engine/feed.h"

namespace sexpgpu::dataio {

// Some records of a run. While `busy`, a thread converts them; `passed` are rows that nobody asks for.
struct Feed::Slot {
  int64_t records = 0;
  Start start;
  bool busy = false;
  bool gone = false;
  int64_t held = 0;
  int64_t passed = 0;
  std::shared_ptr<Piece> piece;
  int64_t rows() const { return piece ? piece->rows : passed; }
};

struct Feed::Run {
  int64_t epoch = 0;
  int file = 0;
  Section section;
  int64_t first = -1;  // of the stream; -1 until known
  int64_t end = -1;    // counted: behind the last row
  int64_t cut = 0;     // records cut out so far
  int64_t taken = 0;   // rows that went to the front and by
  bool advancing = false;
  bool reading = false;
  bool done = false;
  std::shared_ptr<BlockStream> stream;
  std::deque<std::shared_ptr<Slot>> slots;
  std::optional<Fault> fault;  // behind the last slot
  int64_t next_record = 0;     // of the file, behind the slots that went by
  bool dropped = false;
};

}  // namespace sexpgpu::dataio
