#include "encodings/parquet_error.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace sexpgpu::dataio {
namespace {

// A library's text as a note: one line, of a length that a terminal bears.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > 300) text = text.substr(0, 300) + "…";
  return text;
}

}  // namespace

void rethrow_as_fault(const ArrowFile* file, const std::string& name, const std::string& doing) {
  std::string reason;
  try {
    throw;
  } catch (const FaultError&) {
    throw;
  } catch (const std::bad_alloc&) {
    reason = "the sizes it states are more than memory holds";
  } catch (const std::exception& error) {
    reason = one_line(error.what());
  }
  if (file && file->fault()) fail(*file->fault());
  if (reason.find("CRC checksum") != std::string::npos)
    fail({.code = "E-STORE-006",
          .message = quoted(name) + " has a page whose checksum does not match, found " + doing,
          .notes = {reason},
          .advice = "copy or write the file again"});
  fail({.code = "E-STORE-004",
        .message = quoted(name) + " is damaged, found " + doing,
        .notes = {reason},
        .advice = "copy or write the file again"});
}

Fault footer_fault(ByteSource& source, const std::string& reason) {
  const int64_t size = source.size();
  const std::string name = quoted(source.name());
  char head[4] = {};
  char tail[4] = {};
  if (size >= 4) {
    source.read(0, 4, reinterpret_cast<uint8_t*>(head));
    source.read(size - 4, 4, reinterpret_cast<uint8_t*>(tail));
  }
  const auto is = [](const char* four, const char* magic) { return std::memcmp(four, magic, 4) == 0; };
  if (size == 0)
    return {.code = "E-STORE-004", .message = name + " is empty, and a Parquet file has at least a footer"};
  if (is(tail, "PARE"))
    return {.code = "E-STORE-003", .message = name + " is an encrypted Parquet file, which is not read"};
  if (!is(head, "PAR1"))
    return {.code = "E-STORE-003",
            .message = name + " is not a Parquet file",
            .notes = {"a Parquet file begins and ends with the bytes PAR1"}};
  if (!is(tail, "PAR1") || size < 12)
    return {.code = "E-STORE-005",
            .message = name + " is cut: it begins as a Parquet file but ends without a footer, at byte " +
                       std::to_string(size),
            .advice = "copy or write the file again"};
  return {.code = "E-STORE-004",
          .message = name + " has a damaged footer",
          .notes = {one_line(reason)},
          .advice = "copy or write the file again"};
}

}  // namespace sexpgpu::dataio
