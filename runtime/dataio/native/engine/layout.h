// The files of a stage as one run of rows: file after file, block after block.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "field.h"
#include "reader.h"
#include "store.h"

namespace sexpgpu::dataio {

// `name` is the path as the user wrote it, for messages; `path` where it lies.
struct FileName {
  std::string name;
  std::string path;
  std::string encoding;

  // What the manifest `listed_in` tells, -1 and empty where it tells nothing. A file with blocks, or without records,
  // is not opened before its turn comes.
  Expected expected{};
  int64_t records = -1;
  std::vector<Block> blocks{};
  std::string listed_in{};

  bool told() const { return !blocks.empty() || records == 0; }
};

// A file that disagrees with its manifest is told together with it.
Fault with_manifest(Fault fault, const FileName& file);

// What stays of a file when its reader is closed.
struct FileEntry {
  FileName name;
  std::vector<Block> blocks;
  std::vector<int64_t> block_start;  // the file's row at which each block begins, and its end
  bool counted = true;               // else there are no blocks, and how many rows it has is not known
  Expected found{};        // its size and version
  int64_t held_bytes = 0;  // by the reader, while it is open
  int64_t rows() const { return block_start.back(); }
};

// Constant after `open_layout`, but for the few readers it keeps open; safe to use from all threads.
class Layout {
 public:
  // `readers` are those of the first files, still open.
  Layout(std::vector<Field> fields, std::vector<FileEntry> files, std::vector<std::shared_ptr<Reader>> readers,
         std::shared_ptr<const Store> store, size_t open_files);

  const std::vector<Field>& fields() const { return fields_; }
  const std::vector<FileEntry>& files() const { return files_; }
  // Whether the rows of all files are known; else `rows` is of those that are.
  bool counted() const { return counted_; }
  int64_t rows() const { return start_.back(); }
  int64_t row_bytes() const { return row_bytes_; }
  int64_t file_start(int file) const { return start_[file]; }

  // About how much memory the files take: the tables of blocks, and the readers that may be open at once.
  int64_t held_bytes() const;

  // The file that holds a row of the run.
  int file_of(int64_t row) const;

  // The file's reader, opened again when it was closed meanwhile. A file that has changed since is E-STORE-007.
  std::shared_ptr<Reader> reader(int file) const;

 private:
  std::vector<Field> fields_;
  std::vector<FileEntry> files_;
  std::vector<int64_t> start_;
  std::shared_ptr<const Store> store_;
  size_t open_files_;
  int64_t row_bytes_;
  bool counted_ = true;
  mutable std::mutex mutex_;
  mutable std::list<std::pair<int, std::shared_ptr<Reader>>> open_;  // most recently used first
};

// Opens every file on `threads` threads and checks its columns; the error is that of the first bad file as listed.
// With `count`, files of unknown length are read through to count their rows. `poll` is called a few times a second by
// the calling thread and may throw, which stops the work.
std::shared_ptr<Layout> open_layout(const std::vector<FileName>& names, const std::vector<Field>& fields, int threads,
                                    bool count, std::shared_ptr<const Store> store,
                                    const std::function<void()>& poll);

}  // namespace sexpgpu::dataio
