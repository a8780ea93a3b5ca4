// The table of encodings.
#include "reader.h"

#include "encodings/parquet.h"

namespace sexpgpu::dataio {

std::shared_ptr<Reader> open_reader(const std::string& encoding, std::shared_ptr<ByteSource> source,
                                    const std::vector<Field>& fields) {
  if (encoding == "parquet") return open_parquet(std::move(source), fields);
  fail({.code = "E-DATA-011",
        .message = quoted(source->name()) + " has the encoding " + quoted(encoding) + ", which no reader here decodes",
        .word = encoding,
        .choices = {"parquet"}});
}

}  // namespace sexpgpu::dataio
