// Feeds bytes to a decoder: `fuzz_<target>(data, size)`, for libFuzzer (`-fsanitize=fuzzer`) or for the driver below,
// which replays files and then changes them at random for a while.
//
// Whatever the bytes, a decoder ends with rows or with a fault: no crash, no hang, no memory beyond its bound.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "fault.h"
#include "field.h"
#include "reader.h"

#ifndef FUZZ_ENCODING
#define FUZZ_ENCODING "jsonl"
#endif

namespace {

using namespace sexpgpu::dataio;

class MemorySource final : public ByteSource {
 public:
  MemorySource(const uint8_t* data, size_t size) : data_(data, data + size) {}
  int64_t size() const override { return static_cast<int64_t>(data_.size()); }
  const std::string& name() const override { return name_; }
  void read(int64_t offset, int64_t count, uint8_t* out) override {
    if (offset < 0 || count < 0 || offset + count > size()) std::abort();  // a reader never asks beyond the end
    if (count > 0) std::memcpy(out, data_.data() + offset, count);
  }

 private:
  std::vector<uint8_t> data_;
  std::string name_ = "fuzz";
};

// Records with a member of each kind, and records with a long list.
std::vector<std::vector<Field>> declarations() {
  const auto field = [](const char* name, const char* column, DType dtype, std::vector<int64_t> shape) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    return Field{name, column, dtype, std::move(shape), elements, elements * info(dtype).bytes};
  };
  return {{field("a", "x", DType::i32, {2, 2}), field("b", "y", DType::f32, {}), field("c", "p.q", DType::u8, {3}),
           field("d", "f", DType::boolean, {}), field("e", "h", DType::bf16, {2})},
          {field("l", "l", DType::f32, {36})}};
}

void decode(const uint8_t* data, size_t size, const std::vector<Field>& fields) {
  const auto source = std::make_shared<MemorySource>(data, size);
  for (const int64_t skips : {int64_t{0}, int64_t{1000}}) {
    try {
      const auto reader = open_reader(FUZZ_ENCODING, source, fields, {});
      Section section{{}, {0, 0, 0}};
      if (reader->counted())
        for (size_t i = 0; i < reader->blocks().size(); ++i)
          if (reader->blocks()[i].rows > 0) section.blocks.push_back(static_cast<int>(i));
      if (reader->counted() && section.blocks.empty()) continue;
      const auto stream = reader->stream(section, 1 << 16);
      int64_t rows = 0;
      while (const auto job = stream->advance()) {
        const Piece piece = job->convert(skips);
        rows += piece.rows;
        if (piece.fault) break;
        if (rows > 100'000) break;
      }
      if (!reader->counted()) {
        const std::atomic<bool> stop = false;
        reader->count(stop);
      }
    } catch (const FaultError&) {
    }
  }
}

void decode(const uint8_t* data, size_t size) {
  static const auto all = declarations();
  for (const auto& fields : all) decode(data, size, fields);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  decode(data, size);
  return 0;
}

#ifndef FUZZ_WITH_LIBFUZZER
// fuzz CORPUS SECONDS [SEED]: every file of the corpus, then mutants of them.
int main(int count, char** words) {
  std::vector<std::vector<uint8_t>> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(words[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  for (const auto& bytes : corpus) decode(bytes.data(), bytes.size());
  std::mt19937_64 random(count > 3 ? std::strtoull(words[3], nullptr, 10) : 1);
  const auto begun = std::chrono::steady_clock::now();
  const auto limit = std::chrono::duration<double>(count > 2 ? std::atof(words[2]) : 1);
  long runs = 0;
  while (std::chrono::steady_clock::now() - begun < limit) {
    auto bytes = corpus[random() % corpus.size()];
    for (int changes = 1 + static_cast<int>(random() % 6); changes > 0 && !bytes.empty(); --changes) {
      const size_t at = random() % bytes.size();
      switch (random() % 6) {
        case 0: bytes[at] = static_cast<uint8_t>(random()); break;
        case 1: bytes[at] ^= static_cast<uint8_t>(1u << (random() % 8)); break;
        case 2: bytes.resize(at); break;
        case 3: bytes.erase(bytes.begin() + at); break;
        case 4: bytes.insert(bytes.begin() + at, static_cast<uint8_t>(random())); break;
        default: {
          const auto& other = corpus[random() % corpus.size()];
          if (other.empty()) break;
          const size_t from = random() % other.size();
          const size_t length = std::min({static_cast<size_t>(random() % 64), other.size() - from, bytes.size() - at});
          std::memcpy(bytes.data() + at, other.data() + from, length);
        }
      }
    }
    decode(bytes.data(), bytes.size());
    ++runs;
  }
  std::printf("%s: %zu files, %ld mutants\n", FUZZ_ENCODING, corpus.size(), runs);
}
#endif
