#include "records/record_reader.h"

#include "records/record_stream.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;  // of text: counted records between places to begin at
constexpr int64_t kHeldBytes = 4096;

class RecordReader final : public Reader {
 public:
  RecordReader(std::shared_ptr<ByteSource> source, const std::vector<Field>& fields, const std::vector<Block>& blocks,
               const Format& format, Compression compression)
      : blocks_(blocks), counted_(!blocks.empty()) {
    // A file that was counted is read block by block, and its end may be far away.
    std::optional<ZstdSeekTable> table;
    if (!counted_ && compression == Compression::zstd) table = zstd_seek_table(*source);
    file_ = std::make_shared<RecordFile>(RecordFile{std::move(source), fields, format, compression, std::move(table)});
    if (!counted_) look_at_head();
  }

  bool counted() const override { return counted_; }
  const std::vector<Block>& blocks() const override { return blocks_; }
  int64_t held_bytes() const override { return kHeldBytes + (file_->table ? file_->table->held_bytes() : 0); }

  void count(const std::atomic<bool>& stop) override {
    // Without fields a job holds records as far as its text goes.
    const auto bare = std::make_shared<RecordFile>(
        RecordFile{file_->source, {}, file_->format, file_->compression, file_->table});
    const auto stream = record_stream(bare, {0, 0, 0}, -1, true, kBlockBytes);
    std::vector<Block> blocks;
    while (const auto job = stream->advance()) {
      if (stop) return;
      if (blocks.empty() || job->start.offset >= 0) {
        if (!blocks.empty()) blocks.back().bytes = job->start.offset - blocks.back().offset;
        blocks.push_back({0, 0, job->start.offset});
      }
      blocks.back().rows += job->records;
    }
    if (blocks.empty()) blocks.push_back({0, 0, 0});
    blocks.back().bytes = file_->source->size() - blocks.back().offset;
    blocks_ = std::move(blocks);
    counted_ = true;
  }

  std::unique_ptr<BlockStream> stream(const Section& section, int64_t piece_bytes) const override {
    if (!counted_) return record_stream(file_, section.start, -1, true, piece_bytes);
    const Block& first = blocks_[section.blocks.front()];
    Start start{first.offset, 0, -1};
    for (int block = 0; block < section.blocks.front(); ++block) start.record += blocks_[block].rows;
    int64_t records = 0;
    for (const int block : section.blocks) records += blocks_[block].rows;
    bool last = true;  // blocks without rows may follow
    for (size_t block = section.blocks.back() + 1; block < blocks_.size(); ++block)
      last = last && blocks_[block].rows == 0;
    return record_stream(file_, start, records, last, piece_bytes);
  }

 private:
  // Another kind of file is told at once, not when its turn comes.
  void look_at_head() const {
    Buffer head;
    open_inflow(file_->compression, file_->source, 0)->read(1, head);
  }

  std::shared_ptr<const RecordFile> file_;
  std::vector<Block> blocks_;
  bool counted_;
};

}  // namespace

std::shared_ptr<Reader> open_records(std::shared_ptr<ByteSource> source, const std::vector<Field>& fields,
                                     const std::vector<Block>& blocks, const Format& format, Compression compression) {
  return std::make_shared<RecordReader>(std::move(source), fields, blocks, format, compression);
}

}  // namespace sexpgpu::dataio
