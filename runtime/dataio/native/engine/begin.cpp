// What a run through the order begins with: its stream, from a place in each file, and what fills the batches.
#include "engine/engine.h"

#include <algorithm>

namespace sexpgpu::dataio {
namespace {

bool all_counted(const std::vector<std::shared_ptr<Layout>>& layouts) {
  return std::all_of(layouts.begin(), layouts.end(), [](const auto& layout) { return layout->counted(); });
}

// The block that holds a row of a counted layout's endless stream.
Place place_at(const Layout& layout, int64_t row, int64_t epoch, int64_t epoch_first) {
  const int64_t in_epoch = row - epoch_first;
  const int file = layout.file_of(in_epoch);
  const auto& starts = layout.files()[file].block_start;
  const int64_t in_file = in_epoch - layout.file_start(file);
  const int64_t record = *std::prev(std::upper_bound(starts.begin(), starts.end(), in_file));
  return {epoch_first + layout.file_start(file) + record, epoch, file, {-1, record, -1}};
}

bool has_places(const std::optional<Anchor>& anchor) {
  return anchor && std::any_of(anchor->sources.begin(), anchor->sources.end(),
                               [](const auto& source) { return source.place.file >= 0; });
}

}  // namespace

Engine::Engine(const std::vector<std::shared_ptr<Layout>>& layouts, std::shared_ptr<SlabPool> slabs,
               const Settings& settings, const Begin& begin)
    : slabs_(std::move(slabs)),
      settings_(settings),
      epoch_(begin.epoch),
      sequence_(!all_counted(layouts) || settings.on_bad_data != OnBadData::error || has_places(begin.anchor)),
      // A pass that may turn out shorter than counted, or mixes its sources, has a stream of its own.
      base_(begin.rows < 0 || (!settings.endless && (sequence_ || !settings.weights.empty()))
                ? 0
                : begin.epoch * begin.rows),
      position_(base_ + begin.position),
      end_(settings.endless || begin.rows < 0 ? kEndless : base_ + begin.rows) {
  const int64_t left = end_ - position_;
  if (left <= 0 || (left < settings_.share.stride() && !settings_.partial)) {
    ended_ = true;
    return;
  }
  make_stream(layouts, begin);
  start_threads();
}

void Engine::make_stream(const std::vector<std::shared_ptr<Layout>>& layouts, const Begin& begin) {
  const Share& share = settings_.share;
  Anchor anchor;
  if (begin.anchor) {
    anchor = *begin.anchor;
  } else {
    anchor.row = anchor.since = base_;
    for (size_t s = 0; s < layouts.size(); ++s) {
      Anchor::Source& source = anchor.sources.emplace_back();
      source.epoch_first = source.place.row = settings_.weights.empty() ? base_ : 0;
      source.place.epoch = epoch_;
      if (settings_.weights.empty()) source.epoch_rows = begin.rows;
    }
  }
  if (sequence_) find_places(layouts, begin, anchor);
  const bool tracked = sequence_ || !settings_.weights.empty();
  std::optional<Demand> demand;
  if (settings_.shuffle > 1) {
    ShuffleOrder order(begin.key, begin.rows, settings_.shuffle, epoch_, begin.position, base_, settings_.endless);
    // Every rank holds the whole buffer: which of its rows come out here is known only when they are drawn.
    if (!tracked) {
      ShuffleOrder::Rows rows = order.rows();
      demand.emplace(std::move(rows.listed), rows.from, end_, 1, 0, 1);
    }
    filler_ = shuffled_filler(slabs_->shape(), share, std::move(order), end_, anchor, tracked);
  } else {
    if (!tracked) demand.emplace(std::vector<int64_t>{}, position_, end_, share.stride(), share.offset(), share.batch);
    filler_ = plain_filler(slabs_->shape(), share, tracked);
  }
  const std::vector<std::shared_ptr<const Layout>> views(layouts.begin(), layouts.end());
  Stream::Options options{settings_.weights, settings_.endless, base_, begin.rows, settings_.limits,
                          [this] { wake_another(); }};
  if (sequence_) {
    int64_t before = 0;
    for (const auto& source : anchor.sources) before += source.omitted;
    ledger_ = std::make_shared<Ledger>(settings_.on_bad_data, settings_.bad_budget, begin.counted_epoch, before,
                                       begin.omitted);
    stream_ = std::make_unique<Stream>(views, anchor, ledger_, std::move(options), mutex_);
  } else {
    stream_ = std::make_unique<Stream>(views, std::move(demand), anchor, std::move(options), mutex_);
  }
}

// A run that knew where each row lies was the same as a sequence so far, since nothing was left out; what it did not
// note are places.
void Engine::find_places(const std::vector<std::shared_ptr<Layout>>& layouts, const Begin& begin, Anchor& anchor) {
  if (!begin.anchor && begin.position == 0) return;
  for (size_t s = 0; s < layouts.size(); ++s) {
    Anchor::Source& source = anchor.sources[s];
    const Layout& layout = *layouts[s];
    if ((begin.anchor && source.place.file >= 0) || !layout.counted() || layout.rows() == 0) continue;
    if (!settings_.weights.empty()) {
      const int64_t epoch = settings_.endless ? source.taken / layout.rows() : epoch_;
      if (!settings_.endless && source.taken >= layout.rows()) {
        // Behind its last row.
        source.place = {source.taken, epoch, static_cast<int>(layout.files().size()), {0, 0, 0}};
        continue;
      }
      source.epoch_first = settings_.endless ? epoch * layout.rows() : 0;
      source.place = place_at(layout, source.taken, epoch, source.epoch_first);
      if (settings_.endless && epoch > 0) source.epoch_rows = layout.rows();
      continue;
    }
    int64_t oldest = position_;
    if (settings_.shuffle > 1) {
      const ShuffleOrder order(begin.key, begin.rows, settings_.shuffle, epoch_, begin.position, base_,
                               settings_.endless);
      oldest = order.residents() == 0 ? order.next_row() : order.resident(0).row;
    }
    const int64_t epoch = epoch_ + (oldest - base_) / layout.rows();
    source.epoch_first = base_ + (oldest - base_) / layout.rows() * layout.rows();
    source.place = place_at(layout, oldest, epoch, source.epoch_first);
    anchor.row = source.place.row;
  }
}

}  // namespace sexpgpu::dataio
