#include "remote/remote_file.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <mutex>
#include <vector>

#include "fault.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kPartBytes = int64_t{4} << 20;  // of one request: far more than its latency is worth
constexpr int64_t kTailBytes = int64_t{64} << 10;  // comes with the opening; a Parquet footer is mostly inside
constexpr size_t kStreams = 16;                    // places in the file that are followed as read in order

class RemoteFile final : public ByteSource {
  // The bytes `begin` to `end` of the file.
  struct Part {
    int64_t begin;
    int64_t end;
    std::shared_ptr<Fetch> fetch;
  };

 public:
  RemoteFile(std::shared_ptr<FetchQueue> queue, std::string uri, std::string name, int64_t size, std::string version,
             Part tail = {})
      : queue_(std::move(queue)),
        uri_(std::move(uri)),
        name_(std::move(name)),
        size_(size),
        version_(std::move(version)),
        tail_(std::move(tail)) {
    if (size_ >= 0) return;
    auto last = queue_->ask(uri_, name_, -1, kTailBytes, -1, version_, true);
    queue_->await(*last);
    size_ = last->found_size;
    version_ = last->found_version;
    tail_ = {size_ - last->found_count, size_, std::move(last)};
  }

  ~RemoteFile() override {
    for (auto& part : ahead_) queue_->cancel(*part.fetch);
  }

  int64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  const std::string& version() const override { return version_; }

  std::shared_ptr<ByteSource> view() override {
    return std::make_shared<RemoteFile>(queue_, uri_, name_, size_, version_, tail_);
  }

  void read(int64_t offset, int64_t count, uint8_t* out) override {
    std::vector<Copy> copies;
    {
      const std::lock_guard lock(mutex_);
      forget_cancelled();
      plan({offset, count, out}, copies);
      follow(offset, offset + count);
    }
    collect(copies);
  }

  void read_all(const std::vector<Span>& spans) override {
    std::vector<Copy> copies;
    {
      const std::lock_guard lock(mutex_);
      forget_cancelled();
      for (const Span& span : spans) plan(span, copies);
    }
    collect(copies);
  }

 private:
  // From a part to where they are wanted.
  struct Copy {
    Part part;
    int64_t begin;
    int64_t end;
    uint8_t* out;
  };

  // A place that was read up to `next`, without a gap for `length` bytes; read ahead up to `ahead`.
  struct Stream {
    int64_t next;
    int64_t length;
    int64_t ahead;
  };

  Part ask(int64_t begin, int64_t end, bool urgent) {
    return {begin, end, queue_->ask(uri_, name_, begin, end - begin, size_, version_, urgent)};
  }

  // An interruption has ended what was on its way.
  void forget_cancelled() {
    std::erase_if(ahead_, [](const Part& part) { return part.fetch->cancelled.load(); });
  }

  // The part that holds the byte `at`, or null; then `end` is brought down to where the next part begins.
  const Part* part_at(int64_t at, int64_t& end) const {
    const Part* found = nullptr;
    const auto look_at = [&](const Part& part) {
      if (part.begin <= at && at < part.end) found = &part;
      if (part.begin > at) end = std::min(end, part.begin);
    };
    for (const Part& part : ahead_) look_at(part);
    if (tail_.fetch) look_at(tail_);
    return found;
  }

  // Where the bytes of a span come from: parts read ahead, and requests for what lies between them.
  void plan(const Span& span, std::vector<Copy>& copies) {
    if (span.count > size_ - span.offset)
      fail({.code = "E-STORE-005",
            .message = quoted(name_) + " ends at byte " + std::to_string(size_) + ", where " +
                       std::to_string(span.count - (size_ - span.offset)) + " more are expected"});
    const int64_t stop = span.offset + span.count;
    for (int64_t at = span.offset; at < stop;) {
      int64_t end = std::min(stop, at + kPartBytes);
      const Part* found = part_at(at, end);
      Part part = found ? *found : ask(at, end, true);
      end = std::min(stop, part.end);
      copies.push_back({std::move(part), at, end, span.out + (at - span.offset)});
      at = end;
    }
  }

  void collect(std::vector<Copy>& copies) {
    try {
      for (Copy& copy : copies) {
        queue_->await(*copy.part.fetch);
        std::memcpy(copy.out, copy.part.fetch->bytes.get() + (copy.begin - copy.part.begin), copy.end - copy.begin);
        const std::lock_guard lock(mutex_);
        // A part is used up once its last byte was read.
        if (copy.end == copy.part.end) std::erase_if(ahead_, [&](const Part& p) { return p.fetch == copy.part.fetch; });
        copy.part.fetch.reset();
      }
    } catch (...) {
      // The next reader asks again.
      const std::lock_guard lock(mutex_);
      std::erase_if(ahead_, [&](const Part& p) {
        return std::any_of(copies.begin(), copies.end(), [&](const Copy& c) { return c.part.fetch == p.fetch; });
      });
      throw;
    }
  }

  // Reads ahead of a place that is read in order: as much as was read there, up to what may be held.
  void follow(int64_t begin, int64_t end) {
    const auto stream =
        std::find_if(streams_.begin(), streams_.end(), [&](const Stream& s) { return s.next == begin; });
    if (stream == streams_.end()) {
      // One read alone may be no more than a look.
      streams_.push_front({end, end - begin, end});
      if (streams_.size() > kStreams) streams_.pop_back();
      return;
    }
    stream->next = end;
    stream->length += end - begin;
    streams_.splice(streams_.begin(), streams_, stream);
    Stream& first = streams_.front();
    const int64_t wanted = std::min({size_, end + first.length, end + kRemoteHeldBytes / 2});
    for (first.ahead = std::max(first.ahead, end); first.ahead < wanted;) {
      int64_t stop = std::min(size_, first.ahead + kPartBytes);
      if (const Part* found = part_at(first.ahead, stop)) {
        first.ahead = found->end;
      } else {
        make_room(stop - first.ahead);
        ahead_.push_back(ask(first.ahead, stop, false));
        first.ahead = stop;
      }
    }
  }

  // What was read ahead long ago, for a reader that went elsewhere, gives way; somebody may still wait for it.
  void make_room(int64_t bytes) {
    int64_t held = bytes;
    for (const Part& part : ahead_) held += part.end - part.begin;
    while (held > kRemoteHeldBytes && !ahead_.empty()) {
      held -= ahead_.front().end - ahead_.front().begin;
      ahead_.pop_front();
    }
  }

  std::shared_ptr<FetchQueue> queue_;
  std::string uri_;
  std::string name_;
  int64_t size_;
  std::string version_;
  Part tail_;  // what came with the opening; all of a small file, which is then never asked for again
  std::mutex mutex_;  // guards what is below
  std::list<Part> ahead_;
  std::list<Stream> streams_;  // the most recently used first
};

}  // namespace

std::shared_ptr<ByteSource> open_remote(std::shared_ptr<FetchQueue> queue, const std::string& uri,
                                        const std::string& name, int64_t size, const std::string& version) {
  return std::make_shared<RemoteFile>(std::move(queue), uri, name, size, version);
}

}  // namespace sexpgpu::dataio
