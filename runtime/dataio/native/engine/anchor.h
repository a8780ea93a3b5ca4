// Places in a stream from which it can be had again.
#pragma once

#include <cstdint>
#include <vector>

#include "reader.h"

namespace sexpgpu::dataio {

// Where a sequence can begin: row `row` of the stream is the next good one from `start` of the file on.
struct Place {
  int64_t row = 0;
  int64_t epoch = 0;
  int file = 0;
  Start start{0, 0, 0};
};

// From where the stream's rows from `row` on can be had again: for each source how many of its rows came before, and a
// place of its own at or before that, before which `omitted` records were left out. Of a counted source the place is
// not needed, and its file -1.
struct Anchor {
  struct Source {
    bool alive = true;
    int64_t taken = 0;
    int64_t base = 0;
    int64_t omitted = 0;
    int64_t epoch_rows = -1;
    int64_t epoch_first = 0;
    Place place;
  };
  int64_t row = 0;
  int64_t since = 0;
  std::vector<Source> sources;
};

}  // namespace sexpgpu::dataio
