#include "records/msgpack_walk.h"

#include "records/msgpack_run.h"

namespace sexpgpu::dataio {

Walked msgpack_walk(const uint8_t*& at_ref, const uint8_t* end) {
  const uint8_t* at = at_ref;
  uint64_t left = 1;
  while (left > 0) {
    if (at >= end) return Walked::unfinished;
    if (const uint8_t size = kMsgpackSize[*at]) {
      const uint64_t run = left > kMsgpackRun ? skip_run(at, end, left) : 0;
      left -= run;
      for (int64_t i = 0; i < kMsgpackRun && left > 0 && at < end; ++i, --left) {
        const uint8_t own = kMsgpackSize[*at];
        if (!own) break;
        at += own;
      }
      continue;
    }
    uint64_t count = 0;
    int header = 0;
    if (msgpack_array(at, count, header)) {
      left += count;
      count = 0;
    } else if (msgpack_map(at, count, header)) {
      left += 2 * count;
      count = 0;
    } else if (*at >= 0xc7 && *at <= 0xc9) {
      header = 2 + (1 << (*at - 0xc7));
      count = big_endian(at + 1, header - 2);
    } else if (!msgpack_text(at, count, header) && !msgpack_binary(at, count, header)) {
      return Walked::bad;
    }
    --left;
    // Each value takes a byte at least: a larger number is no matter of reading on.
    if (header > end - at || count > static_cast<uint64_t>(end - at - header)) return Walked::unfinished;
    at += header + static_cast<int64_t>(count);
  }
  if (at > end) return Walked::unfinished;
  at_ref = at;
  return Walked::whole;
}

}  // namespace sexpgpu::dataio
