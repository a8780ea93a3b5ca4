#include "core.h"

#include <unistd.h>

#include <algorithm>

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 20;  // small enough that rows are still cached when they are copied on
constexpr int64_t kRunBytes = int64_t{8} << 20;    // tiny row groups are decoded together up to this
constexpr int64_t kPieces = 128;                   // of tiny files, which make tiny pieces
constexpr int64_t kDecoderBytes = int64_t{16} << 20;  // the bytes of a file that one decoder holds
constexpr int64_t kWindowBytes = int64_t{1} << 20;    // or this much for each field, where that is more
constexpr int64_t kSpareSlabs = 2;                    // one being filled, one in the hands of the caller

}  // namespace

Core::Core(const std::vector<FileName>& files, const std::vector<Field>& fields, const CoreOptions& options,
           const std::function<void()>& poll)
    : counter_(std::make_shared<std::atomic<int64_t>>(0)),
      layout_(open_layout(files, fields, options.threads, counter_, poll)),
      slabs_(std::make_shared<SlabPool>(SlabShape(fields, options.batch), options.prefetch + kSpareSlabs)),
      settings_{.share = {options.batch, options.world, options.rank},
                .shuffle = options.shuffle,
                .partial = options.partial,
                .threads = options.threads,
                .prefetch = options.prefetch,
                .limits = {.piece_bytes = kPieceBytes,
                           .run_bytes = kRunBytes,
                           .lookahead_rows = std::max<int64_t>(options.lookahead_bytes / layout_->row_bytes(), 1),
                           .pieces = kPieces,
                           .open_runs = options.threads + 1}},
      pid_(::getpid()) {}

void Core::stop() {
  // A forked child has the memory of the threads but not the threads: to join them would wait for ever.
  if (::getpid() != pid_) static_cast<void>(engine_.release());
  engine_.reset();
}

void Core::start(uint64_t key, int64_t position, int64_t end) {
  stop();
  engine_ = std::make_unique<Engine>(layout_, slabs_, settings_, key, position, end < 0 ? Settings::kEndless : end);
}

int64_t Core::memory_bound() const {
  const int64_t row = layout_->row_bytes();
  const int64_t piece = std::max(kPieceBytes, row);
  const int64_t slabs = (settings_.prefetch + kSpareSlabs) * slabs_->shape().bytes;
  const int64_t buffer = settings_.shuffle > 1 ? std::min(settings_.shuffle, layout_->rows()) * row : 0;
  // Rows decoded ahead, one piece more for each thread that may be decoding past the limit, and the piece in use.
  const int64_t decoded = settings_.limits.lookahead_rows * row + (settings_.threads + 1) * piece;
  // Each decoder: its bytes of the file, and a piece as stored beside the piece as declared.
  const int64_t windows = static_cast<int64_t>(layout_->fields().size()) * kWindowBytes;
  const int64_t decoders = settings_.limits.open_runs * (std::max(kDecoderBytes, windows) + 2 * piece);
  return slabs + buffer + decoded + decoders + layout_->held_bytes();
}

}  // namespace sexpgpu::dataio
