// Over JSON text, value by value. Strict (RFC 8259), but for NaN and the infinities.
//
// A line ends with a byte that no value holds, so nothing here needs an end to look at: whatever is expected, a line
// end or the zero behind the text is not it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "records/format.h"

namespace sexpgpu::dataio {

inline bool is_json_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

class JsonWalk {
 protected:
  // At the beginning of a line, which ends before `end`.
  void enter(const uint8_t* at, const uint8_t* end) {
    begin_ = at_ = at;
    end_ = end;
  }

  void space() {
    while (is_json_space(*at_)) ++at_;
  }
  void expect(char c, const char* what);
  void word(const char* text);

  // Past a string whose opening quote is at `at_`; gives what stands between the quotes, and whether it has escapes.
  std::pair<const uint8_t*, int64_t> string(bool& escaped);

  // The text of a key with escapes. Surrogates that stand alone become what no column name holds.
  static std::string unescaped(const uint8_t* at, int64_t size);

  // Past any value, which has to be well-formed.
  void skip(int depth);

  // Over the members of the object that begins at `at_`: `member` gets a key as it stands and whether it has escapes,
  // with `at_` at the value, which it passes.
  template <typename Member>
  void members(int depth, Member&& member) {
    check_depth(depth);
    ++at_;
    space();
    if (*at_ == '}') {
      ++at_;
      return;
    }
    while (true) {
      if (*at_ != '"') malformed("a key is missing");
      bool escaped = false;
      const auto [key, length] = string(escaped);
      expect(':', "a colon");
      space();
      member(key, length, escaped);
      space();
      if (*at_ == ',') {
        ++at_;
        space();
        continue;
      }
      if (*at_ != '}') malformed("a comma or the end of an object is missing");
      ++at_;
      return;
    }
  }

  static std::string what_is(const uint8_t* at);

  // `[3, 4]`: the lengths of nested arrays as found, as far as those of one level agree. Of well-formed JSON.
  std::string found_shape(const uint8_t* begin);

  [[noreturn]] void malformed(const std::string& what);

  const uint8_t* at_ = nullptr;
  const uint8_t* begin_ = nullptr;  // of the line
  const uint8_t* end_ = nullptr;

 private:
  void check_depth(int depth);
  void escape();
};

}  // namespace sexpgpu::dataio
