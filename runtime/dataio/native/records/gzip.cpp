// gzip (RFC 1952): any number of members, each with its checksum and length.
#include <algorithm>
#include <deque>

#include "records/crc32.h"
#include "records/inflate.h"
#include "records/inflow.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kOutput = int64_t{256} << 10;
constexpr int64_t kHeaderLimit = int64_t{1} << 20;  // of a member: its name and comment have no stated length

class GzipInflow final : public Inflow {
 public:
  GzipInflow(std::shared_ptr<ByteSource> source, int64_t offset)
      : window_(std::move(source), offset), output_(std::make_unique_for_overwrite<uint8_t[]>(kSize)) {}

  int64_t read(int64_t count, Buffer& out) override {
    int64_t got = 0;
    while (got < count) {
      if (!open_ && !next_member()) break;
      got += inflate(out);
    }
    return got;
  }

  int64_t seam(int64_t position) override {
    while (!seams_.empty() && seams_.front().first < position) seams_.pop_front();
    return !seams_.empty() && seams_.front().first == position ? seams_.front().second : -1;
  }

 private:
  static constexpr int64_t kSize = Inflate::kHistory + kOutput + Inflate::kOutputSlack;

  // At the next member's data; false at the end of the file.
  bool next_member() {
    const int64_t offset = window_.offset();
    if (!window_.want(1)) return false;
    if (offset > 0 && window_.data()[0] == 0) {
      while (window_.want(1)) {
        if (window_.data()[0] != 0) damaged("bytes follow the zeros behind its last gzip member");
        window_.consume(1);
      }
      return false;
    }
    if (!window_.want(10)) (offset == 0 ? foreign() : cut());
    const uint8_t* head = window_.data();
    if (head[0] != 0x1f || head[1] != 0x8b) {
      if (offset == 0) foreign();
      damaged("bytes that are no gzip member follow a member");
    }
    if (head[2] != 8) damaged("a member is compressed by the unknown method " + std::to_string(head[2]));
    const int flags = head[3];
    if (flags & 0xe0) damaged("a member's header has flags that have no meaning");
    int64_t at = 10;
    if (flags & 4) {
      need(at + 2);
      at += 2 + (window_.data()[at] | window_.data()[at + 1] << 8);
    }
    for (const int flag : {8, 16})
      if (flags & flag) do need(++at);
        while (window_.data()[at - 1] != 0);
    if (flags & 2) at += 2;
    need(at);
    window_.consume(at);
    // A seam only where output can follow: of empty members in a row the last one counts.
    if (!seams_.empty() && seams_.back().first == position_) seams_.pop_back();
    seams_.emplace_back(position_, offset);
    inflate_.reset();
    begin_ = written_ = out_ = output_.get();
    crc_ = 0;
    length_ = 0;
    open_ = true;
    return true;
  }

  // Decodes some of the member into `out`; closes it at its end.
  int64_t inflate(Buffer& to) {
    window_.want(Inflate::kInputSlack);
    const uint8_t* in = window_.data();
    const auto status = inflate_.run(in, in + window_.available(), window_.whole(), begin_, out_,
                                     output_.get() + kSize);
    if (status == Inflate::Status::cut) cut();
    if (status == Inflate::Status::bad) damaged(std::string("its compressed data holds ") + inflate_.reason());
    window_.consume(in - window_.data());
    const int64_t made = out_ - written_;
    crc_ = crc32(crc_, written_, made);
    length_ += static_cast<uint32_t>(made);
    to.append(written_, made);
    position_ += made;
    written_ = out_;
    if (status == Inflate::Status::done) {
      end_member();
    } else if (output_.get() + kSize - out_ < 2 * Inflate::kOutputSlack) {
      const int64_t keep = std::min<int64_t>(out_ - output_.get(), Inflate::kHistory);
      std::memmove(output_.get(), out_ - keep, keep);
      out_ = written_ = output_.get() + keep;
    }
    return made;
  }

  void end_member() {
    if (!window_.want(8)) cut();
    uint32_t stated[2];
    std::memcpy(stated, window_.data(), 8);
    if (stated[0] != crc_ || stated[1] != length_)
      fail({.code = "E-STORE-006",
            .message = quoted(window_.name()) + " has a gzip member whose checksum does not match, at byte " +
                       std::to_string(window_.offset() + 8),
            .advice = "copy or write the file again"});
    window_.consume(8);
    open_ = false;
  }

  void need(int64_t count) {
    if (count > kHeaderLimit) damaged("a member's header does not end");
    if (!window_.want(count)) cut();
  }

  [[noreturn]] void foreign() {
    fail({.code = "E-STORE-003",
          .message = quoted(window_.name()) + " is not a gzip file",
          .notes = {"a gzip file begins with the bytes 1F 8B"},
          .advice = "give the `:encoding` of the file, or write it again"});
  }

  [[noreturn]] void cut() {
    fail({.code = "E-STORE-005",
          .message = quoted(window_.name()) + " is cut: it ends inside a gzip member, at byte " +
                     std::to_string(window_.size()),
          .advice = "copy or write the file again"});
  }

  [[noreturn]] void damaged(const std::string& what) {
    fail({.code = "E-STORE-004",
          .message = quoted(window_.name()) + " is damaged near byte " + std::to_string(window_.offset()) + ": " + what,
          .advice = "copy or write the file again"});
  }

  Window window_;
  Inflate inflate_;
  std::unique_ptr<uint8_t[]> output_;
  uint8_t* begin_ = nullptr;    // the oldest byte of the member that may be copied
  uint8_t* out_ = nullptr;
  uint8_t* written_ = nullptr;  // handed over up to here
  uint32_t crc_ = 0;
  uint32_t length_ = 0;
  bool open_ = false;
  int64_t position_ = 0;  // of the output
  std::deque<std::pair<int64_t, int64_t>> seams_;
};

}  // namespace

std::unique_ptr<Inflow> gzip_inflow(std::shared_ptr<ByteSource> source, int64_t offset) {
  return std::make_unique<GzipInflow>(std::move(source), offset);
}

}  // namespace sexpgpu::dataio
