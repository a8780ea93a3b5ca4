#include "records/record_stream.h"

#include <algorithm>

#include "rows/convert.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kChunk = int64_t{1} << 20;        // text of a job, where records are no longer
constexpr int64_t kStep = int64_t{256} << 10;       // text asked for at a time
constexpr int64_t kMaxRecord = int64_t{64} << 20;   // of a record, where its row is not larger still
constexpr int64_t kTextOfByte = 32;                 // text that a byte of a row may take

// A key as a message can show it: of any length, of any bytes, as it comes from a file.
std::string printable(std::string key) {
  if (key.size() > 80) key = key.substr(0, 80) + "…";
  for (char& c : key)
    if (static_cast<unsigned char>(c) < 0x20) c = '?';
  return key;
}

// The text of some records, to be parsed into columns.
class RecordJob final : public Job {
 public:
  RecordJob(std::shared_ptr<const RecordFile> file, Buffer text, int64_t bytes)
      : file_(std::move(file)), text_(std::move(text)), bytes_(bytes) {}

  Piece convert(int64_t skips) override {
    Piece piece;
    const auto& fields = file_->fields;
    std::vector<uint8_t*> to;
    for (const Field& field : fields) {
      piece.columns.emplace_back();
      to.push_back(allocate(piece.columns.back(), records * field.bytes));
    }
    Targets targets(fields);
    const auto parser = file_->format.parser();
    const uint8_t* at = text_.data();
    const uint8_t* end = at + bytes_;
    int64_t lines = 0;
    for (int64_t record = 0; record < records; ++record) {
      for (size_t f = 0; f < fields.size(); ++f) targets.rows[f] = to[f] + piece.rows * fields[f].bytes;
      try {
        targets.begin_record();
        if (!parser->parse(at, end, targets, lines)) break;
        ++piece.rows;
      } catch (const BadRecord& bad) {
        Fault found = describe(bad, record, lines);
        if (bad.code == "E-DATA-001") {
          found.word = bad.field->column;
          for (std::string& key : parser->keys()) found.choices.push_back(printable(std::move(key)));
        }
        if (static_cast<int64_t>(piece.skipped.size()) >= skips) {
          piece.fault = std::move(found);
          break;
        }
        lines += file_->format.has_lines();
        piece.skipped.push_back({start.record + record, piece.rows, std::move(found)});
      }
    }
    return piece;
  }

 private:
  Fault describe(const BadRecord& bad, int64_t record, int64_t lines) const {
    std::string place = quoted(file_->source->name()) + " record " + std::to_string(start.record + record);
    if (file_->format.has_lines() && start.line >= 0) place += " (line " + std::to_string(start.line + lines + 1) + ")";
    Fault made{.code = bad.code, .message = place + ": ", .notes = {}, .advice = bad.advice};
    if (bad.field) {
      made.message += "the field " + quoted(":" + bad.field->name) + " wants " + type_text(*bad.field) + ", ";
      made.notes.push_back("key " + quoted(bad.field->column));
    }
    made.message += bad.found;
    made.notes.push_back(file_->format.has_lines() ? "records count from 0, lines from 1" : "records count from 0");
    return made;
  }

  std::shared_ptr<const RecordFile> file_;
  Buffer text_;
  int64_t bytes_;
};

class RecordStream final : public BlockStream {
 public:
  RecordStream(std::shared_ptr<const RecordFile> file, const Start& start, int64_t records, bool last,
               int64_t piece_bytes)
      : file_(std::move(file)),
        inflow_(open_inflow(file_->compression, file_->source, std::max<int64_t>(start.offset, 0),
                            file_->table ? &*file_->table : nullptr)),
        offset_(std::max<int64_t>(start.offset, 0)),
        left_(records),
        last_(last),
        record_(start.record),
        line_(offset_ == 0 ? 0 : start.line),
        at_file_start_(offset_ == 0) {
    const int64_t row = std::max<int64_t>(row_bytes(file_->fields), 1);
    most_rows_ = std::max<int64_t>(piece_bytes / row, 1);
    most_text_ = std::max(kMaxRecord, row * kTextOfByte);
  }

  std::unique_ptr<Job> advance() override {
    if (done_ || left_ == 0) return nullptr;
    Cut cut;
    int64_t seen = 0;
    while (true) {
      if (!ended_ && text_.size() < std::max(kChunk, seen + std::max(kStep, seen / 2))) {
        try {
          if (inflow_->read(kStep, text_) == 0) ended_ = true;
        } catch (const FaultError& error) {
          // The whole records before the damage are good.
          ended_ = true;
          damage_ = error.fault();
        }
        if (at_file_start_ && (text_.size() >= 8 || ended_)) begin_file();
        continue;
      }
      text_.pad();
      int64_t most = most_rows_;
      if (left_ > 0) most = std::min(most, left_);
      cut = file_->format.cut(text_.data(), text_.size(), most, ended_ && !damage_, seen);
      if (cut.records > 0 || cut.bad || ended_) break;
      seen = text_.size();
      if (cut.bytes > 0) drop(cut);  // blank lines and nothing else
      if (cut.bytes == 0 && text_.size() > most_text_) too_long();
      if (cut.bytes > 0) seen = 0;
    }
    if (cut.records == 0) return end(cut);
    return job(cut);
  }

  bool wants_ahead() override { return inflow_->wants_ahead(); }
  std::shared_ptr<Ahead> ahead() override { return inflow_->ahead(); }

 private:
  void begin_file() {
    at_file_start_ = false;
    const int64_t skip = file_->format.preamble(text_.data(), text_.size());
    text_.drop(skip);
    position_ += skip;
  }

  void drop(const Cut& cut) {
    text_.drop(cut.bytes);
    position_ += cut.bytes;
    line_ += line_ >= 0 ? cut.lines : 0;
  }

  std::unique_ptr<Job> job(const Cut& cut) {
    // The records' text goes to the job, what follows them stays here.
    Buffer rest;
    if (cut.bytes < text_.size() || file_->compression != Compression::zstd)
      rest.room(std::max(kChunk + kStep, text_.size() - cut.bytes));
    rest.append(text_.data() + cut.bytes, text_.size() - cut.bytes);
    auto made = std::make_unique<RecordJob>(file_, std::move(text_), cut.bytes);
    text_ = std::move(rest);
    made->records = cut.records;
    made->start = {first_ ? offset_ : inflow_->seam(position_), record_, line_};
    first_ = false;
    position_ += cut.bytes;
    record_ += cut.records;
    if (line_ >= 0) line_ += cut.lines;
    if (left_ > 0) {
      left_ -= cut.records;
      if (left_ == 0 && last_) expect_end();
    }
    return made;
  }

  // No record is left. What may be is damage, a fault at the next record, or records that were promised.
  std::unique_ptr<Job> end(const Cut& cut) {
    done_ = true;
    if (damage_) fail(*damage_);
    if (cut.unfinished)
      fail({.code = "E-STORE-005",
            .message = quoted(file_->source->name()) + " is cut: it ends inside record " + std::to_string(record_),
            .notes = {"records count from 0"},
            .advice = "copy or write the file again"});
    if (cut.bad)
      fail({.code = "E-DATA-015",
            .message = quoted(file_->source->name()) + " record " + std::to_string(record_) + ": " + cut.bad,
            .notes = {"records count from 0", "where the next record begins cannot be told"}});
    if (left_ > 0)
      fail({.code = "E-DATA-032",
            .message = quoted(file_->source->name()) + " ends after record " + std::to_string(record_ - 1) + ", and " +
                       std::to_string(left_) + " more were counted in it",
            .advice = "count the files again, or restore the file"});
    return nullptr;
  }

  // All records that were counted are there: no other may follow.
  void expect_end() {
    while (true) {
      text_.pad();
      const Cut cut = file_->format.cut(text_.data(), text_.size(), 1, ended_, 0);
      if (cut.records > 0 || cut.bad || cut.unfinished || text_.size() - cut.bytes > most_text_)
        fail({.code = "E-DATA-032",
              .message = quoted(file_->source->name()) + " holds more records than the " + std::to_string(record_) +
                         " that were counted in it",
              .advice = "count the files again, or restore the file"});
      drop(cut);
      if (ended_) return;
      if (inflow_->read(kStep, text_) == 0) ended_ = true;
    }
  }

  [[noreturn]] void too_long() {
    fail({.code = "E-DATA-016",
          .message = quoted(file_->source->name()) + " record " + std::to_string(record_) + " is longer than " +
                     std::to_string(most_text_) + " bytes",
          .notes = {"records count from 0"},
          .advice = "is the file one of records? write one JSON object a line, or one msgpack map a record"});
  }

  std::shared_ptr<const RecordFile> file_;
  std::unique_ptr<Inflow> inflow_;
  Buffer text_;
  int64_t position_ = 0;  // of the text's beginning, in the inflow's output
  int64_t offset_;        // of the file, where this began
  bool first_ = true;
  int64_t left_;          // records to go, or -1
  bool last_;
  int64_t record_;
  int64_t line_;
  bool at_file_start_;
  bool ended_ = false;
  bool done_ = false;
  std::optional<Fault> damage_;
  int64_t most_rows_;
  int64_t most_text_;
};

}  // namespace

std::unique_ptr<BlockStream> record_stream(std::shared_ptr<const RecordFile> file, const Start& start, int64_t records,
                                           bool last, int64_t piece_bytes) {
  return std::make_unique<RecordStream>(std::move(file), start, records, last, piece_bytes);
}

}  // namespace sexpgpu::dataio
