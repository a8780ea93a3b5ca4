#include "engine/stream.h"

#include <algorithm>

namespace sexpgpu::dataio {
namespace {

std::vector<Mix::Source> states(const Anchor& anchor) {
  std::vector<Mix::Source> out;
  for (const auto& source : anchor.sources) out.push_back({0, source.alive, source.taken, source.base});
  return out;
}

}  // namespace

// Mixed sources share what may be held, by weight.
FeedLimits Stream::share(const FeedLimits& limits, size_t source) const {
  if (!mix_) return limits;
  FeedLimits own = limits;
  double sum = 0;
  for (const auto& each : mix_->sources()) sum += each.weight;
  const double part = mix_->sources()[source].weight / sum;
  own.lookahead_rows = std::max<int64_t>(static_cast<int64_t>(static_cast<double>(limits.lookahead_rows) * part), 1);
  own.pieces = std::max<int64_t>(limits.pieces / static_cast<int64_t>(mix_->sources().size()), 4);
  own.open_runs = std::max<int>(limits.open_runs / static_cast<int>(mix_->sources().size()), 1);
  return own;
}

Stream::Stream(const Anchor& anchor, const Options& options, bool counted, std::mutex& mutex)
    : sources_(anchor.sources.size()),
      endless_(options.endless),
      counted_(counted),
      base_(options.base),
      epoch_rows_(options.epoch_rows),
      wake_(options.wake),
      mutex_(mutex),
      row_(anchor.row - 1) {
  if (options.weights.empty()) return;
  mix_.emplace(options.weights);
  mix_->restore(anchor.row, anchor.since, states(anchor));
}

Stream::Stream(std::vector<std::shared_ptr<const Layout>> layouts, std::optional<Demand> demand, const Anchor& anchor,
               Options options, std::mutex& mutex)
    : Stream(anchor, options, true, mutex) {
  for (size_t s = 0; s < layouts.size(); ++s) {
    const int64_t end = endless_ ? INT64_MAX : layouts[s]->rows();
    if (mix_) sources_[s].end = end;
    sources_[s].feed = std::make_unique<Feed>(
        layouts[s], mix_ ? Demand({}, anchor.sources[s].taken, end, 1, 0, 1) : std::move(*demand),
        share(options.limits, s), options.wake);
  }
}

Stream::Stream(std::vector<std::shared_ptr<const Layout>> layouts, const Anchor& anchor, std::shared_ptr<Ledger> ledger,
               Options options, std::mutex& mutex)
    : Stream(anchor, options, false, mutex) {
  for (size_t s = 0; s < layouts.size(); ++s) {
    const auto& from = anchor.sources[s];
    sources_[s].place = from.place;
    sources_[s].omitted = from.omitted;
    sources_[s].epoch_first = from.epoch_first;
    sources_[s].feed = std::make_unique<Feed>(layouts[s], from.place, from.epoch_first, from.epoch_rows, endless_,
                                              from.omitted, ledger, share(options.limits, s), options.wake);
  }
}

// The next piece becomes the source's current one. With the lock held, after `settle` found it.
void Stream::enter(Source& source) {
  source.piece = source.feed->take();
  source.next_skip = 0;
  const Served& piece = *source.piece;
  source.skip_row = piece.piece->skipped.empty() ? INT64_MAX : piece.first + piece.piece->skipped[0].rows;
  if (piece.place) {
    source.place = *piece.place;
    source.omitted = source.feed->omitted();
    source.epoch_first = source.feed->epoch_first();
  }
  ++pieces_;
}

// Counts what was left out before `row`. With the lock held.
void Stream::omit(Source& source, int64_t row) {
  const auto& skipped = source.piece->piece->skipped;
  for (; source.next_skip < skipped.size() && source.piece->first + skipped[source.next_skip].rows <= row;
       ++source.next_skip)
    source.feed->omit(*source.piece, skipped[source.next_skip]);
  source.skip_row = INT64_MAX;
  if (source.next_skip < skipped.size()) source.skip_row = source.piece->first + skipped[source.next_skip].rows;
}

Stream::Found Stream::in_source(Source& source, int64_t row, Row& out) {
  if (!source.piece || row < source.piece->first || row >= source.piece->end()) {
    const std::lock_guard lock(mutex_);
    if (source.piece) omit(source, INT64_MAX);
    source.piece.reset();
    source.skip_row = INT64_MAX;
    const Feed::Found found = source.feed->settle(row);
    if (found == Feed::Found::wait) {
      waiting_ = static_cast<int>(&source - sources_.data());
      waiting_row_ = row;
      return Found::wait;
    }
    if (!mix_ && epoch_rows_ < 0) epoch_rows_ = source.feed->epoch_rows();
    if (found == Feed::Found::end) return Found::end;
    enter(source);
    wake_();
  }
  if (row >= source.skip_row) {
    const std::lock_guard lock(mutex_);
    omit(source, row);
  }
  const int64_t index = row - source.piece->first;
  out = {source.piece->piece.get(), index, mix_ ? 1 : std::min(source.piece->end(), source.skip_row) - row};
  return Found::row;
}

// Decides which source gives `row`. Sources that have ended drop out on the way.
Stream::Found Stream::choose(int64_t row) {
  while (mix_->row() <= row) {
    const int next = mix_->next();
    if (next < 0) return Found::end;
    Source& source = sources_[next];
    const int64_t taken = mix_->sources()[next].taken;
    bool ended = taken >= source.end;
    if (!ended && !endless_ && !counted_) {
      Row unused;
      const Found found = in_source(source, taken, unused);
      if (found == Found::wait) return found;
      ended = found == Found::end;
    }
    if (ended) {
      mix_->drop(next);
      continue;
    }
    chosen_ = next;
    chosen_row_ = taken;
    mix_->take(next);
  }
  return Found::row;
}

Stream::Found Stream::at(int64_t row, Row& out) {
  row_ = row;
  if (!mix_) return in_source(sources_[0], row, out);
  const Found chosen = choose(row);
  if (chosen == Found::end && epoch_rows_ < 0) epoch_rows_ = mix_->row() - base_;
  return chosen == Found::row ? in_source(sources_[chosen_], chosen_row_, out) : chosen;
}

Anchor Stream::anchor() const {
  Anchor anchor;
  const int64_t stop = endless_ || epoch_rows_ < 0 ? INT64_MAX : base_ + epoch_rows_;
  const int64_t next = std::min(row_ + 1, stop);  // the end is found by asking for rows behind it
  anchor.row = mix_ ? mix_->row() : next;
  anchor.since = mix_ ? mix_->since() : 0;
  for (size_t s = 0; s < sources_.size(); ++s) {
    const Source& source = sources_[s];
    Anchor::Source own;
    if (mix_) {
      own.alive = mix_->sources()[s].alive;
      own.taken = mix_->sources()[s].taken;
      own.base = mix_->sources()[s].base;
    } else {
      own.taken = next;
    }
    own.omitted = source.omitted;
    own.epoch_rows = source.feed->epoch_rows();
    own.epoch_first = source.epoch_first;
    own.place = source.place;
    if (counted_) own.place.file = -1;  // the number of rows taken tells it
    anchor.sources.push_back(own);
  }
  return anchor;
}

bool Stream::ready() {
  if (waiting_ < 0) return true;
  try {
    if (sources_[waiting_].feed->settle(waiting_row_) == Feed::Found::wait) return false;
  } catch (const FaultError&) {
    // Thrown again, where it can be handed on.
  }
  waiting_ = -1;
  return true;
}

Feed::Task Stream::pick(Feed*& feed) {
  const size_t count = sources_.size();
  const size_t first = waiting_ < 0 ? 0 : static_cast<size_t>(waiting_);
  for (size_t i = 0; i < count; ++i) {
    feed = sources_[(first + i) % count].feed.get();
    if (Feed::Task task = feed->pick()) return task;
  }
  return {};
}

bool Stream::has_work() {
  return std::any_of(sources_.begin(), sources_.end(), [](const Source& source) { return source.feed->has_work(); });
}

}  // namespace sexpgpu::dataio
