// Deflate (RFC 1951): the decoder under gzip.
//
// Text compresses into short codes, so one look into the table gives up to two literals. Input and output come in
// windows: the decoder stops between symbols when either runs low and goes on where it was.
#pragma once

#include <array>
#include <cstdint>

namespace sexpgpu::dataio {

class Inflate {
 public:
  static constexpr int64_t kInputSlack = 1024;  // unless it is the last, an input shorter than this is given back
  static constexpr int64_t kOutputSlack = 320;  // room that a run leaves unused
  static constexpr int64_t kHistory = 32768;    // bytes of output that later output may copy

  enum class Status : uint8_t { need_input, need_output, done, cut, bad };

  // Ready for a new stream.
  void reset();

  // Decodes from `in` up to `in_end`, behind which 16 bytes are readable, and moves `in` to what is left over: after
  // `done` the byte behind the stream. Writes from `out` and stays below `out_end`; `out_begin` is the oldest byte
  // that may be copied. `last`: no input follows.
  Status run(const uint8_t*& in, const uint8_t* in_end, bool last, const uint8_t* out_begin, uint8_t*& out,
             const uint8_t* out_end);

  // Of `bad`: what is wrong.
  const char* reason() const { return reason_; }

 private:
  static constexpr int kLiteralBits = 11;
  static constexpr int kDistanceBits = 8;
  using Entry = uint32_t;

  enum class State : uint8_t { header, stored, codes, end };

  Status header(const uint8_t*& in, const uint8_t* in_end, bool last);
  Status codes(const uint8_t*& in, const uint8_t* in_end, bool last, const uint8_t* out_begin, uint8_t*& out,
               const uint8_t* out_end);
  Status bad(const char* reason);
  bool dynamic_tables(const uint8_t*& in, const uint8_t* in_end);
  void fixed_tables();
  bool literal_table(const uint8_t* lengths, int count);
  bool distance_table(const uint8_t* lengths, int count);
  void refill(const uint8_t*& in);
  uint64_t take(int count);

  State state_ = State::header;
  bool final_ = false;
  uint64_t bits_ = 0;
  int count_ = 0;  // bits in `bits_`
  int64_t stored_ = 0;
  const char* reason_ = "";
  std::array<Entry, (1 << kLiteralBits) + 288 * 16> literals_;
  std::array<Entry, (1 << kDistanceBits) + 32 * 128> distances_;
};

}  // namespace sexpgpu::dataio
