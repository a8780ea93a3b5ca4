// The table of encodings.
#include "reader.h"

#include "encodings/parquet.h"
#include "records/record_reader.h"

namespace sexpgpu::dataio {
namespace {

struct Records {
  const char* name;
  const Format& (*format)();
  Compression compression;
};

// `.zstf` is the owner's name for frames of zstd, which `.zst` is too.
constexpr Records kRecords[] = {
    {"jsonl", json_format, Compression::none},       {"jsonl.gz", json_format, Compression::gzip},
    {"jsonl.zst", json_format, Compression::zstd},   {"msgpack", msgpack_format, Compression::none},
    {"msgpack.gz", msgpack_format, Compression::gzip}, {"msgpack.zst", msgpack_format, Compression::zstd},
    {"msgpack.zstf", msgpack_format, Compression::zstd},
};

}  // namespace

std::vector<std::string> encodings() {
  std::vector<std::string> names{"parquet"};
  for (const Records& records : kRecords) names.push_back(records.name);
  return names;
}

std::shared_ptr<Reader> open_reader(const std::string& encoding, std::shared_ptr<ByteSource> source,
                                    const std::vector<Field>& fields, const std::vector<Block>& blocks) {
  if (encoding == "parquet") return open_parquet(std::move(source), fields, blocks);
  for (const Records& records : kRecords)
    if (encoding == records.name)
      return open_records(std::move(source), fields, blocks, records.format(), records.compression);
  fail({.code = "E-DATA-011",
        .message = quoted(source->name()) + " has the encoding " + quoted(encoding) + ", which no reader here decodes",
        .word = encoding,
        .choices = encodings()});
}

}  // namespace sexpgpu::dataio
