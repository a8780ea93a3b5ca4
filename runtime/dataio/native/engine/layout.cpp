#include "engine/layout.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <optional>
#include <thread>

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kHeldBytes = 4096;  // of a reader that is not open yet

FileEntry entry_of(const FileName& name, const std::vector<Block>& blocks, bool counted, Expected found,
                   int64_t held) {
  FileEntry entry{name, blocks, {0}, counted, std::move(found), held};
  entry.name.blocks.clear();
  for (const Block& block : entry.blocks) entry.block_start.push_back(entry.block_start.back() + block.rows);
  return entry;
}

// The manifest has to say the same as the file, as far as it says anything.
void check_counts(const FileName& name, const std::vector<Block>& listed, const std::vector<Block>& found) {
  if (name.listed_in.empty()) return;
  const auto disagree = [&](int64_t said, int64_t has, const std::string& what) {
    fail({.code = "E-DATA-032",
          .message = quoted(name.listed_in) + " says that " + quoted(name.name) + " has " + std::to_string(said) +
                     what + ", and it has " + std::to_string(has),
          .advice = "write the manifest again with `sexpc manifest`, or put the file back that it lists"});
  };
  const auto sum = [](const std::vector<Block>& blocks) {
    int64_t rows = 0;
    for (const Block& block : blocks) rows += block.rows;
    return rows;
  };
  if (name.records >= 0 && name.records != sum(found)) disagree(name.records, sum(found), " records");
  if (listed.empty()) return;
  if (listed.size() != found.size()) disagree(listed.size(), found.size(), " blocks");
  for (size_t i = 0; i < found.size(); ++i)
    if (listed[i].rows != found[i].rows)
      disagree(listed[i].rows, found[i].rows, " records in block " + std::to_string(i));
}

std::shared_ptr<Reader> open_listed(const FileName& name, std::shared_ptr<ByteSource> source,
                                    const std::vector<Field>& fields, const std::vector<Block>& blocks) {
  try {
    return open_reader(name.encoding, std::move(source), fields, blocks);
  } catch (const FaultError& error) {
    fail(with_manifest(error.fault(), name));
  }
}

// One pass over the list of files by several threads.
class Opening {
 public:
  // The readers of the first `keep` files stay open: they are wanted at once.
  Opening(const std::vector<FileName>& names, const std::vector<Field>& fields, bool count,
          std::shared_ptr<const Store> store, size_t keep)
      : names_(names),
        fields_(fields),
        count_(count),
        store_(std::move(store)),
        entries_(names.size()),
        readers_(std::min(keep, names.size())) {}

  void run(int threads, const std::function<void()>& poll) {
    std::vector<std::jthread> workers;
    const auto count = std::min<size_t>(threads, names_.size());
    running_ = static_cast<int>(count);
    for (size_t i = 0; i < count; ++i) workers.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    try {
      while (!done_.wait_for(lock, std::chrono::milliseconds(50), [this] { return running_ == 0; })) {
        lock.unlock();
        poll();
        lock.lock();
      }
    } catch (...) {
      stop_ = true;
      store_->interrupt();
      throw;
    }
    if (error_) std::rethrow_exception(error_);
  }

  std::vector<FileEntry> take() {
    std::vector<FileEntry> files;
    for (auto& entry : entries_) files.push_back(std::move(*entry));
    return files;
  }

  std::vector<std::shared_ptr<Reader>> take_readers() { return std::move(readers_); }

 private:
  void work() {
    for (size_t i = next_++; i < names_.size() && !stop_ && i < bad_; i = next_++) {
      try {
        // What a manifest has told is believed until the file's turn comes; but the first one is wanted at once.
        const FileName& name = names_[i];
        if (name.told() && i > 0) {
          entries_[i] = entry_of(name, name.blocks, true, name.expected, kHeldBytes);
          continue;
        }
        const auto source = store_->open(name.path, name.name, name.expected);
        auto reader = open_listed(name, source, fields_, name.blocks);
        if (count_ && !reader->counted()) reader->count(stop_);
        if (reader->counted()) check_counts(name, name.blocks, reader->blocks());
        entries_[i] = entry_of(name, reader->blocks(), reader->counted(), {source->size(), source->version()},
                               reader->held_bytes());
        if (i < readers_.size()) readers_[i] = std::move(reader);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (i < bad_) {
          bad_ = i;
          error_ = std::current_exception();
        }
      }
    }
    const std::lock_guard lock(mutex_);
    --running_;
    done_.notify_all();
  }

  const std::vector<FileName>& names_;
  const std::vector<Field>& fields_;
  bool count_;
  std::shared_ptr<const Store> store_;
  std::vector<std::optional<FileEntry>> entries_;
  std::vector<std::shared_ptr<Reader>> readers_;
  std::atomic<size_t> next_ = 0;
  std::atomic<size_t> bad_ = SIZE_MAX;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable done_;
  std::exception_ptr error_;
  int running_ = 0;
};

}  // namespace

Fault with_manifest(Fault fault, const FileName& file) {
  if (fault.code == "E-DATA-032" && !file.listed_in.empty()) {
    fault.notes.push_back("they were counted for the manifest " + quoted(file.listed_in));
    fault.advice = "write the manifest again with `sexpc manifest`, or put the file back that it lists";
  }
  return fault;
}

Layout::Layout(std::vector<Field> fields, std::vector<FileEntry> files, std::vector<std::shared_ptr<Reader>> readers,
               std::shared_ptr<const Store> store, size_t open_files)
    : fields_(std::move(fields)),
      files_(std::move(files)),
      start_{0},
      store_(std::move(store)),
      open_files_(open_files),
      row_bytes_(dataio::row_bytes(fields_)) {
  for (const auto& file : files_) {
    start_.push_back(start_.back() + file.rows());
    counted_ = counted_ && file.counted;
  }
  for (size_t i = 0; i < readers.size(); ++i)
    if (readers[i]) open_.emplace_back(static_cast<int>(i), std::move(readers[i]));
}

int64_t Layout::held_bytes() const {
  std::vector<int64_t> readers;
  int64_t total = 0;
  for (const auto& file : files_) {
    readers.push_back(file.held_bytes);
    total += static_cast<int64_t>(sizeof(FileEntry) + file.blocks.size() * (sizeof(Block) + sizeof(int64_t)));
  }
  // One more than are kept: a reader is opened before another is closed.
  std::sort(readers.rbegin(), readers.rend());
  for (size_t i = 0; i < readers.size() && i <= open_files_; ++i) total += readers[i];
  return total;
}

int Layout::file_of(int64_t row) const {
  // The last file that begins at or before the row: files without rows before it are passed over.
  return static_cast<int>(std::upper_bound(start_.begin(), start_.end(), row) - start_.begin()) - 1;
}

std::shared_ptr<Reader> Layout::reader(int file) const {
  const std::lock_guard lock(mutex_);
  for (auto it = open_.begin(); it != open_.end(); ++it) {
    if (it->first != file) continue;
    open_.splice(open_.begin(), open_, it);
    return it->second;
  }
  const FileEntry& entry = files_[file];
  const auto source = store_->open(entry.name.path, entry.name.name, entry.found);
  auto reader = open_listed(entry.name, source, fields_, entry.counted ? entry.blocks : std::vector<Block>{});
  if (entry.counted) check_counts(entry.name, entry.blocks, reader->blocks());
  if ((entry.counted && !std::ranges::equal(reader->blocks(), entry.blocks, {}, &Block::rows, &Block::rows)) ||
      (entry.found.bytes >= 0 && source->size() != entry.found.bytes))
    fail({.code = "E-STORE-007",
          .message = quoted(entry.name.name) + " has changed since the loader opened it",
          .advice = "write new data under a new name"});
  open_.emplace_front(file, reader);
  if (open_.size() > open_files_) open_.pop_back();
  return reader;
}

std::shared_ptr<Layout> open_layout(const std::vector<FileName>& names, const std::vector<Field>& fields, int threads,
                                    bool count, std::shared_ptr<const Store> store,
                                    const std::function<void()>& poll) {
  const size_t open_files = threads + 2;
  Opening opening(names, fields, count, store, open_files);
  opening.run(threads, poll);
  return std::make_shared<Layout>(fields, opening.take(), opening.take_readers(), std::move(store), open_files);
}

}  // namespace sexpgpu::dataio
