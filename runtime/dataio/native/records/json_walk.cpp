#include "records/json_walk.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <vector>

#include "records/json_number.h"

namespace sexpgpu::dataio {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101u;
constexpr uint64_t kTops = 0x8080808080808080u;

// The length of the UTF-8 sequence at `at`, 0 where there is none. Surrogates and overlong forms are none.
int sequence(const uint8_t* at) {
  const auto more = [&](int i) { return (at[i] & 0xc0) == 0x80; };
  const uint8_t c = at[0];
  if (c < 0x80) return 1;
  if (c < 0xc2) return 0;
  if (c < 0xe0) return more(1) ? 2 : 0;
  if (c < 0xf0) {
    if (!more(1) || !more(2)) return 0;
    if (c == 0xe0 && at[1] < 0xa0) return 0;
    if (c == 0xed && at[1] > 0x9f) return 0;
    return 3;
  }
  if (c > 0xf4 || !more(1) || !more(2) || !more(3)) return 0;
  if (c == 0xf0 && at[1] < 0x90) return 0;
  if (c == 0xf4 && at[1] > 0x8f) return 0;
  return 4;
}

}  // namespace

void JsonWalk::malformed(const std::string& what) {
  refuse(nullptr, "E-DATA-015",
         what + ", at byte " + std::to_string(at_ - begin_) + " of the line (" +
             (at_ >= end_ ? "its end" : "`" + excerpt(at_, std::min<int64_t>(end_ - at_, 20)) + "`") + ")");
}

void JsonWalk::check_depth(int depth) {
  if (depth > kMaxDepth) malformed("it is nested deeper than " + std::to_string(kMaxDepth) + " levels");
}

void JsonWalk::expect(char c, const char* what) {
  space();
  if (*at_ != c) malformed(std::string(what) + " is missing");
  ++at_;
}

void JsonWalk::word(const char* text) {
  const size_t length = std::strlen(text);
  for (size_t i = 0; i < length; ++i)
    if (at_[i] != static_cast<uint8_t>(text[i])) malformed("no JSON value begins here");
  at_ += length;
}

std::string JsonWalk::what_is(const uint8_t* at) {
  switch (*at) {
    case '{': return "an object";
    case '[': return "an array";
    case '"': return "a text";
    case 't': case 'f': return "a bool";
    case 'n': return "null";
    default: return "a number or no JSON";
  }
}

std::pair<const uint8_t*, int64_t> JsonWalk::string(bool& escaped) {
  const uint8_t* const begin = ++at_;
  escaped = false;
  while (true) {
    uint64_t word;
    std::memcpy(&word, at_, 8);
    // Marks quotes, backslashes, control characters and everything beyond ASCII; the lowest mark is exact.
    const uint64_t quote = word ^ (kOnes * '"');
    const uint64_t slash = word ^ (kOnes * '\\');
    const uint64_t marks =
        (((quote - kOnes) & ~quote) | ((slash - kOnes) & ~slash) | (word - kOnes * 0x20) | word) & kTops;
    if (marks == 0) {
      at_ += 8;
      continue;
    }
    at_ += std::countr_zero(marks) >> 3;
    const uint8_t c = *at_;
    if (c == '"') return {begin, at_++ - begin};
    if (c == '\\') {
      escaped = true;
      escape();
    } else if (c < 0x20) {
      malformed(at_ >= end_ ? "a text does not end" : "a text holds a control character");
    } else {
      const int length = sequence(at_);
      if (length == 0) malformed("a text holds bytes that are no UTF-8");
      at_ += length;
    }
  }
}

void JsonWalk::escape() {
  ++at_;
  switch (*at_) {
    case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': ++at_; return;
    case 'u':
      for (int i = 1; i <= 4; ++i)
        if (!std::isxdigit(at_[i])) malformed("a text holds a \\u without four digits");
      at_ += 5;
      return;
    default: malformed("a text holds an unknown escape");
  }
}

std::string JsonWalk::unescaped(const uint8_t* at, int64_t size) {
  std::string out;
  const uint8_t* const end = at + size;
  const auto hex = [](const uint8_t* from) {
    return static_cast<uint32_t>(std::stoul(std::string(reinterpret_cast<const char*>(from), 4), nullptr, 16));
  };
  while (at < end) {
    if (*at != '\\') {
      out += static_cast<char>(*at++);
      continue;
    }
    const char c = static_cast<char>(at[1]);
    at += 2;
    if (c != 'u') {
      const char* const from = std::strchr("bfnrt", c);
      out += from && c ? "\b\f\n\r\t"[from - std::strchr("bfnrt", 'b')] : c;
      continue;
    }
    uint32_t code = hex(at);
    at += 4;
    if (code >= 0xd800 && code < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u') {
      const uint32_t low = hex(at + 2);
      if (low >= 0xdc00 && low < 0xe000) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        at += 6;
      }
    }
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x800) {
      out += static_cast<char>(0xc0 | code >> 6);
      out += static_cast<char>(0x80 | (code & 63));
    } else if (code < 0x10000) {
      out += static_cast<char>(0xe0 | code >> 12);
      out += static_cast<char>(0x80 | (code >> 6 & 63));
      out += static_cast<char>(0x80 | (code & 63));
    } else {
      out += static_cast<char>(0xf0 | code >> 18);
      out += static_cast<char>(0x80 | (code >> 12 & 63));
      out += static_cast<char>(0x80 | (code >> 6 & 63));
      out += static_cast<char>(0x80 | (code & 63));
    }
  }
  return out;
}

void JsonWalk::skip(int depth) {
  check_depth(depth);
  bool escaped;
  switch (*at_) {
    case '"': string(escaped); return;
    case '{': members(depth, [&](const uint8_t*, int64_t, bool) { skip(depth + 1); }); return;
    case '[': {
      ++at_;
      space();
      if (*at_ == ']') {
        ++at_;
        return;
      }
      while (true) {
        skip(depth + 1);
        space();
        if (*at_ == ',') {
          ++at_;
          space();
          continue;
        }
        if (*at_ != ']') malformed("a comma or the end of an array is missing");
        ++at_;
        return;
      }
    }
    case 't': word("true"); return;
    case 'f': word("false"); return;
    case 'n': word("null"); return;
    case 'N': word("NaN"); return;
    case 'I': word("Infinity"); return;
    default: {
      if (at_[0] == '-' && at_[1] == 'I') {
        ++at_;
        word("Infinity");
        return;
      }
      JsonNumber number;
      if (!scan_number(at_, number)) malformed("no JSON value begins here");
      at_ = number.end;
    }
  }
}

std::string JsonWalk::found_shape(const uint8_t* begin) {
  std::vector<int64_t> lengths;
  std::vector<bool> uniform;
  std::vector<int64_t> counts;  // items so far of the arrays that are open
  for (at_ = begin;;) {
    space();
    if (*at_ == '[') {
      counts.push_back(0);
      ++at_;
      space();
      if (*at_ != ']') {
        counts.back() = 1;
        continue;
      }
    } else if (*at_ == ',') {
      ++counts.back();
      ++at_;
      continue;
    } else if (*at_ != ']') {
      skip(0);
      if (counts.empty()) break;
      continue;
    }
    ++at_;
    const size_t level = counts.size() - 1;
    if (lengths.size() <= level) {
      lengths.resize(level + 1, -1);
      uniform.resize(level + 1, true);
    }
    if (lengths[level] >= 0 && lengths[level] != counts.back()) uniform[level] = false;
    lengths[level] = counts.back();
    counts.pop_back();
    if (counts.empty()) break;
  }
  std::string text;
  for (size_t level = 0; level < lengths.size(); ++level) {
    if (!uniform[level]) return "[" + text + (text.empty() ? "" : ", ") + "lists of different lengths]";
    text += (text.empty() ? "" : ", ") + std::to_string(lengths[level]);
  }
  return "[" + text + "]";
}

}  // namespace sexpgpu::dataio
