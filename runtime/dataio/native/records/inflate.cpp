#include "records/inflate.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sexpgpu::dataio {
namespace {

// A table entry: bits 0–5 how many bits it consumes in all, 8–11 how many of them are the code (extra bits follow),
// flags, and from bit 16 the value: literals, the base of a length or distance, or where a second table begins.
constexpr uint32_t kLiteral = 1u << 12;  // `value` holds one literal, or two where kPair is set
constexpr uint32_t kPair = 1u << 13;
constexpr uint32_t kSecond = 1u << 14;   // code bits: those of the second table
constexpr uint32_t kSpecial = 1u << 15;  // the end of a block (value 0) or no code at all (value 1)
constexpr uint32_t kNoCode = kSpecial | 1u << 16;

constexpr uint32_t entry(uint32_t value, uint32_t flags, int code, int extra) {
  return value << 16 | flags | static_cast<uint32_t>(code) << 8 | static_cast<uint32_t>(code + extra);
}

constexpr uint16_t kLengthBase[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                    31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
constexpr uint8_t kLengthExtra[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                    2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
constexpr uint16_t kDistanceBase[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,
                                      33,  49,  65,  97,  129, 193,  257,  385,  513,  769,
                                      1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

inline uint64_t load(const uint8_t* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

inline uint32_t reversed(uint32_t code, int length) {
  uint32_t out = 0;
  for (int i = 0; i < length; ++i) out |= ((code >> i) & 1) << (length - 1 - i);
  return out;
}

// Fills a table from code lengths; `make(symbol, code bits)` gives an entry. False for lengths that are no code: more
// codes than there is room for, or fewer, except for a single one.
template <typename Make>
bool build(const uint8_t* lengths, int count, int root, uint32_t* table, Make make) {
  int of_length[16] = {};
  for (int symbol = 0; symbol < count; ++symbol) ++of_length[lengths[symbol]];
  of_length[0] = 0;
  int used = 0;
  int left = 1;
  for (int length = 1; length < 16; ++length) {
    used += of_length[length];
    left = 2 * left - of_length[length];
    if (left < 0) return false;
  }
  if (left > 0 && !(used == 0 || (used == 1 && of_length[1] == 1))) return false;
  uint32_t next[16] = {};
  for (int length = 1; length < 15; ++length) next[length + 1] = (next[length] + of_length[length]) << 1;
  const uint32_t size = 1u << root;
  std::fill(table, table + size, kNoCode);

  // Where codes are longer than the root, how many bits the second table of their common beginning needs.
  uint32_t code_of[288];
  uint8_t second[1 << 11] = {};
  for (int symbol = 0; symbol < count; ++symbol) {
    const int length = lengths[symbol];
    if (!length) continue;
    code_of[symbol] = reversed(next[length]++, length);
    if (length > root) {
      uint8_t& wanted = second[code_of[symbol] & (size - 1)];
      wanted = std::max<uint8_t>(wanted, static_cast<uint8_t>(length - root));
    }
  }
  uint32_t end = size;
  for (int symbol = 0; symbol < count; ++symbol) {
    const int length = lengths[symbol];
    if (!length) continue;
    if (length <= root) {
      const uint32_t made = make(symbol, length);
      for (uint32_t at = code_of[symbol]; at < size; at += 1u << length) table[at] = made;
      continue;
    }
    const uint32_t first = code_of[symbol] & (size - 1);
    const int width = second[first];
    if (!(table[first] & kSecond)) {
      table[first] = entry(end, kSecond, width, 0);
      std::fill(table + end, table + end + (1u << width), kNoCode);
      end += 1u << width;
    }
    uint32_t* sub = table + (table[first] >> 16);
    const uint32_t made = make(symbol, length);
    for (uint32_t at = code_of[symbol] >> root; at < (1u << width); at += 1u << (length - root)) sub[at] = made;
  }
  return true;
}

}  // namespace

void Inflate::reset() {
  state_ = State::header;
  final_ = false;
  bits_ = 0;
  count_ = 0;
}

Inflate::Status Inflate::bad(const char* reason) {
  reason_ = reason;
  return Status::bad;
}

// At least 56 bits, as far as there is input; behind its end come zeros.
inline void Inflate::refill(const uint8_t*& in) {
  bits_ |= load(in) << count_;
  in += (63 - count_) >> 3;
  count_ |= 56;
}

inline uint64_t Inflate::take(int count) {
  const uint64_t value = bits_ & ((uint64_t{1} << count) - 1);
  bits_ >>= count;
  count_ -= count;
  return value;
}

bool Inflate::literal_table(const uint8_t* lengths, int count) {
  const auto make = [](int symbol, int code) -> uint32_t {
    if (symbol < 256) return entry(symbol, kLiteral, code, 0);
    if (symbol == 256) return entry(0, kSpecial, code, 0);
    if (symbol > 285) return kNoCode;
    return entry(kLengthBase[symbol - 257], 0, code, kLengthExtra[symbol - 257]);
  };
  if (!build(lengths, count, kLiteralBits, literals_.data(), make)) return false;
  // Where a second literal fits behind the first, one entry gives both. From the end: what it looks at is single.
  for (int at = (1 << kLiteralBits) - 1; at >= 0; --at) {
    const Entry first = literals_[at];
    if (!(first & kLiteral)) continue;
    const int used = first & 63;
    const Entry next = literals_[at >> used];
    if ((next & kLiteral) && !(next & kPair) && used + static_cast<int>(next & 63) <= kLiteralBits && (at >> used) < at)
      literals_[at] = entry((first >> 16) | (next >> 16) << 8, kLiteral | kPair, used + (next & 63), 0);
  }
  return true;
}

bool Inflate::distance_table(const uint8_t* lengths, int count) {
  return build(lengths, count, kDistanceBits, distances_.data(), [](int symbol, int code) -> uint32_t {
    if (symbol > 29) return kNoCode;
    return entry(kDistanceBase[symbol], 0, code, symbol < 2 ? 0 : symbol / 2 - 1);
  });
}

void Inflate::fixed_tables() {
  uint8_t lengths[288];
  for (int i = 0; i < 288; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  literal_table(lengths, 288);
  std::fill(lengths, lengths + 32, uint8_t{5});
  distance_table(lengths, 32);
}

bool Inflate::dynamic_tables(const uint8_t*& in, const uint8_t* in_end) {
  refill(in);
  const int literals = static_cast<int>(take(5)) + 257;
  const int distances = static_cast<int>(take(5)) + 1;
  const int codes = static_cast<int>(take(4)) + 4;
  if (literals > 286 || distances > 30) return false;
  uint8_t lengths[320] = {};
  for (int i = 0; i < codes; ++i) {
    refill(in);
    lengths[kOrder[i]] = static_cast<uint8_t>(take(3));
  }
  uint32_t table[1 << 7];
  if (!build(lengths, 19, 7, table, [](int symbol, int code) { return entry(symbol, 0, code, 0); })) return false;
  std::fill(lengths, lengths + 320, uint8_t{0});
  for (int at = 0; at < literals + distances;) {
    refill(in);
    if (in > in_end + 8) return false;  // zeros from behind the end
    const uint32_t found = table[bits_ & 127];
    if (found & kSpecial) return false;
    take(found & 63);
    const int symbol = static_cast<int>(found >> 16);
    if (symbol < 16) {
      lengths[at++] = static_cast<uint8_t>(symbol);
      continue;
    }
    if (symbol == 16 && at == 0) return false;
    const uint8_t value = symbol == 16 ? lengths[at - 1] : 0;
    const int times = symbol == 16 ? 3 + static_cast<int>(take(2))
                      : symbol == 17 ? 3 + static_cast<int>(take(3)) : 11 + static_cast<int>(take(7));
    if (at + times > literals + distances) return false;
    for (int i = 0; i < times; ++i) lengths[at++] = value;
  }
  if (lengths[256] == 0) return false;
  return literal_table(lengths, literals) && distance_table(lengths + literals, distances);
}

Inflate::Status Inflate::header(const uint8_t*& in, const uint8_t* in_end, bool last) {
  if (!last && in_end - in < kInputSlack) return Status::need_input;
  refill(in);
  final_ = take(1);
  const auto overran = [&] { return in - (count_ >> 3) > in_end; };
  switch (take(2)) {
    case 0: {
      take(count_ & 7);
      refill(in);
      const uint64_t length = take(16);
      if (overran()) return Status::cut;
      refill(in);
      const uint64_t check = take(16);
      if (overran()) return Status::cut;
      if ((length ^ check) != 0xffff) return bad("a stored block whose length contradicts itself");
      in -= count_ >> 3;
      bits_ = 0;
      count_ = 0;
      stored_ = static_cast<int64_t>(length);
      state_ = State::stored;
      return Status::done;
    }
    case 1: fixed_tables(); break;
    case 2: {
      const bool good = dynamic_tables(in, in_end);
      if (overran()) return Status::cut;
      if (!good) return bad("a block with an impossible code");
      break;
    }
    default: return bad("a block of an unknown kind");
  }
  if (overran()) return Status::cut;
  state_ = State::codes;
  return Status::done;
}

Inflate::Status Inflate::codes(const uint8_t*& in_ref, const uint8_t* in_end, bool last, const uint8_t* out_begin,
                               uint8_t*& out_ref, const uint8_t* out_end) {
  // Locals, so that the loop keeps them in registers.
  const uint8_t* in = in_ref;
  uint8_t* out = out_ref;
  uint64_t bits = bits_;
  int count = count_;
  const Entry* literals = literals_.data();
  const Entry* distances = distances_.data();
  constexpr uint64_t kMask = (1 << kLiteralBits) - 1;
  Status status = Status::done;
  const auto fill = [&] {
    bits |= load(in) << count;
    in += (63 - count) >> 3;
    count |= 56;
  };
  const auto drop = [&](Entry e) {
    bits >>= e & 63;
    count -= static_cast<int>(e & 63);
  };
  const auto literal = [&](Entry e) {
    const uint16_t two = static_cast<uint16_t>(e >> 16);
    std::memcpy(out, &two, 2);
    out += 1 + ((e >> 13) & 1);
    drop(e);
  };
  const uint8_t* in_stop = last ? in_end + 8 : in_end - 32;
  while (true) {
    if (in > in_stop) {
      status = last ? Status::cut : Status::need_input;
      break;
    }
    if (out_end - out < kOutputSlack) {
      status = Status::need_output;
      break;
    }
    fill();
    Entry e = literals[bits & kMask];
    if (e & kLiteral) {
      literal(e);
      e = literals[bits & kMask];
      if (e & kLiteral) {
        literal(e);
        e = literals[bits & kMask];
        if (e & kLiteral) {
          literal(e);
          continue;
        }
      }
      fill();
    }
    if (e & kSecond) {
      e = literals[(e >> 16) + ((bits >> kLiteralBits) & ((1u << ((e >> 8) & 15)) - 1))];
      if (e & kLiteral) {
        literal(e);
        continue;
      }
    }
    if (e & kSpecial) {
      if (e >> 16) {
        status = bad("a code that stands for nothing");
        break;
      }
      drop(e);
      state_ = final_ ? State::end : State::header;
      break;
    }
    const int code = (e >> 8) & 15;
    int64_t length = static_cast<int64_t>(e >> 16) + ((bits & ((uint64_t{1} << (e & 63)) - 1)) >> code);
    drop(e);
    Entry d = distances[bits & ((1 << kDistanceBits) - 1)];
    if (d & kSecond) d = distances[(d >> 16) + ((bits >> kDistanceBits) & ((1u << ((d >> 8) & 15)) - 1))];
    if (d & kSpecial) {
      status = bad("a distance that stands for nothing");
      break;
    }
    const int64_t distance =
        static_cast<int64_t>(d >> 16) + ((bits & ((uint64_t{1} << (d & 63)) - 1)) >> ((d >> 8) & 15));
    drop(d);
    if (distance > out - out_begin) {
      status = bad("a copy from before the beginning");
      break;
    }
    const uint8_t* from = out - distance;
    uint8_t* const to_end = out + length;
    if (distance >= 8) {
      do {
        std::memcpy(out, from, 8);
        out += 8;
        from += 8;
      } while (out < to_end);
    } else if (distance == 1) {
      std::memset(out, *from, length);
    } else {
      do *out++ = *from++;
      while (out < to_end);
    }
    out = to_end;
  }
  in_ref = in;
  out_ref = out;
  bits_ = bits;
  count_ = count;
  return status;
}

Inflate::Status Inflate::run(const uint8_t*& in, const uint8_t* in_end, bool last, const uint8_t* out_begin,
                             uint8_t*& out, const uint8_t* out_end) {
  Status status = Status::done;
  while (status == Status::done && state_ != State::end) {
    if (state_ == State::header) {
      status = header(in, in_end, last);
    } else if (state_ == State::codes) {
      status = codes(in, in_end, last, out_begin, out, out_end);
      if (status == Status::done && in - (count_ >> 3) > in_end) status = Status::cut;
    } else {
      const int64_t room = out_end - out - kOutputSlack;
      const int64_t some = std::min({stored_, static_cast<int64_t>(in_end - in), std::max<int64_t>(room, 0)});
      std::memcpy(out, in, some);
      in += some;
      out += some;
      stored_ -= some;
      if (stored_ == 0)
        state_ = final_ ? State::end : State::header;
      else if (room <= 0 || out_end - out <= kOutputSlack)
        status = Status::need_output;
      else
        status = last ? Status::cut : Status::need_input;
    }
  }
  // Whole bytes that were loaded but not consumed go back. The bits of a half byte stay.
  if (status != Status::cut && status != Status::bad) {
    in -= count_ >> 3;
    count_ &= 7;
    bits_ &= (uint64_t{1} << count_) - 1;
  }
  return status;
}

}  // namespace sexpgpu::dataio
