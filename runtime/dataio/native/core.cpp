#include "core.h"

#include <unistd.h>

#include <algorithm>
#include <new>

#include "remote/remote_file.h"

namespace sexpgpu::dataio {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 20;  // small enough that rows are still cached when they are copied on
constexpr int64_t kRunBytes = int64_t{8} << 20;    // tiny row groups are decoded together up to this
constexpr int64_t kPieces = 128;                   // of tiny files, which make tiny pieces
constexpr int64_t kDecoderBytes = int64_t{16} << 20;  // the bytes of a file that one decoder holds
constexpr int64_t kWindowBytes = int64_t{1} << 20;    // or this much for each field, where that is more
constexpr int64_t kRecordDecoderBytes = int64_t{80} << 20;  // of zstd frames: units ahead, and the text of a job
constexpr int64_t kThreadBytes = int64_t{8} << 20;    // what the allocator keeps for a thread of what came free
constexpr int64_t kSlotBytes = 32;                    // of the shuffle buffer: 8, and 24 while a resumed one fills
constexpr int kFarThreads = 4;
constexpr int64_t kSpareSlabs = 2;                    // one being filled, one in the hands of the caller

// Threads that wait for far bytes decode nothing meanwhile: a few more keep several runs on their way.
int threads_for(int asked, const Store& store) { return store.has_far() ? std::max(asked, kFarThreads) : asked; }

}  // namespace

Core::Core(const std::vector<std::vector<FileName>>& sources, const std::vector<Field>& fields,
           const CoreOptions& options, std::shared_ptr<const Store> store, const std::function<void()>& poll)
    : store_(std::move(store)),
      slabs_(std::make_shared<SlabPool>(SlabShape(fields, options.batch), options.prefetch + kSpareSlabs)),
      settings_{.share = {options.batch, options.world, options.rank},
                .shuffle = options.shuffle,
                .partial = options.partial,
                .endless = options.endless,
                .threads = threads_for(options.threads, *store_),
                .prefetch = options.prefetch,
                .on_bad_data = options.on_bad_data,
                .bad_budget = options.bad_budget,
                .weights = options.weights,
                .limits = {.piece_bytes = kPieceBytes,
                           .run_bytes = kRunBytes,
                           .lookahead_rows = std::max<int64_t>(options.lookahead_bytes / row_bytes(fields), 1),
                           .pieces = kPieces,
                           .open_runs = threads_for(options.threads, *store_) + 1}},
      pid_(::getpid()) {
  for (const auto& files : sources)
    layouts_.push_back(open_layout(files, fields, settings_.threads, !options.endless, store_, poll));
}

int64_t Core::rows() const {
  if (settings_.on_bad_data != OnBadData::error || (settings_.endless && !settings_.weights.empty())) return -1;
  int64_t rows = 0;
  for (const auto& layout : layouts_) {
    if (!layout->counted()) return -1;
    rows += layout->rows();
  }
  return rows;
}

bool Core::seekable() const { return settings_.weights.empty() && rows() >= 0; }

void Core::stop() {
  // A forked child has the memory of the threads but not the threads: to join them would wait for ever.
  if (::getpid() != pid_) {
    static_cast<void>(engine_.release());
    return;
  }
  store_->interrupt();
  engine_.reset();
  store_->resume();
}

void Core::start(const Begin& begin) {
  stop();
  try {
    engine_ = std::make_unique<Engine>(layouts_, slabs_, settings_, begin);
  } catch (const std::bad_alloc&) {
    fail({.code = "E-DATA-014",
          .message = "no memory is left for a shuffle buffer of " + std::to_string(settings_.shuffle) + " rows of " +
                     std::to_string(layouts_[0]->row_bytes()) + " bytes",
          .advice = "lower `:shuffle`"});
  }
}

int64_t Core::memory_bound() const {
  const auto& fields = layouts_[0]->fields();
  const int64_t row = layouts_[0]->row_bytes();
  const int64_t piece = std::max(kPieceBytes, row);
  const int64_t slabs = (settings_.prefetch + kSpareSlabs) * slabs_->shape().bytes;
  const int64_t epoch = rows();
  int64_t slots = settings_.shuffle > 1 ? settings_.shuffle : 0;
  if (epoch >= 0) slots = std::min(slots, epoch);
  // Rows decoded ahead, one piece more for each thread that may be decoding past the limit, and the pieces in use.
  const int64_t sources = static_cast<int64_t>(layouts_.size());
  const int64_t decoded = settings_.limits.lookahead_rows * row + (settings_.threads + sources) * piece;
  // Each decoder: its bytes of the file, and a piece as stored beside the piece as declared. Every source has one.
  const int64_t windows = static_cast<int64_t>(fields.size()) * kWindowBytes;
  const int64_t open = std::max<int64_t>(settings_.limits.open_runs, sources);
  const bool records = std::any_of(layouts_.begin(), layouts_.end(), [](const auto& layout) {
    return std::any_of(layout->files().begin(), layout->files().end(),
                       [](const FileEntry& file) { return file.name.encoding != "parquet"; });
  });
  const int64_t decoder = std::max({kDecoderBytes, windows, records ? kRecordDecoderBytes : 0});
  int64_t held = 0;
  for (const auto& layout : layouts_) held += layout->held_bytes();
  // Far files hold what they read ahead, and each decoder's bytes a second time while they arrive.
  const int64_t far = store_->has_far() ? (settings_.threads + 3) * kRemoteHeldBytes + settings_.threads * kDecoderBytes
                                        : 0;
  if (slots > INT64_MAX / 2 / (row + kSlotBytes)) return INT64_MAX;  // rows of unknown number, and no bound
  return slabs + slots * (row + kSlotBytes) + decoded + open * (decoder + 2 * piece) + far + held +
         settings_.threads * kThreadBytes;
}

}  // namespace sexpgpu::dataio
