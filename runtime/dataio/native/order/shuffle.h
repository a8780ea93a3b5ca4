// The shuffled order of rows, as a pure function of (key, rows, buffer size, epoch, position).
//
// How many rows an epoch has may be found out on the way: until then the order is that of a longer epoch, which is the
// same up to the draw at which a row is missing.
//
// In each epoch a buffer of N rows is filled from the stream of rows; then one row after another is drawn from it and
// the next row of the stream takes its place; once the stream has ended, the buffer is drawn empty. When the loader
// goes on for ever, the next epoch's first rows take the places that the emptying buffer leaves, so that there are
// never more than N rows in memory and never a pause between epochs.
//
// The buffer's contents at any position follow from the draws, and the draws from a counter: a place holds the row
// that came in at the last draw of that place. Walking back over about N ln N draws finds them all, a third of a
// second for a million rows. So a cursor needs no list of rows, only the position.
#pragma once

#include <cstdint>
#include <vector>

namespace sexpgpu::dataio {

// A row of the stream and the slot of the buffer in which it lies.
struct Resident {
  int64_t row;
  int64_t slot;
};

class ShuffleOrder {
 public:
  static constexpr int64_t kUnknown = int64_t{1} << 61;

  // At `position` drawn rows of `epoch`, whose first row is row `base` of the stream. Not `endless`: the order ends
  // with this epoch.
  ShuffleOrder(uint64_t key, int64_t rows, int64_t buffer, int64_t epoch, int64_t position, int64_t base,
               bool endless);

  // An epoch turned out to have so many rows, before the first draw for which that makes a difference. False where such
  // a draw was made already: the position was wrong from the beginning.
  bool set_rows(int64_t rows);
  bool knows_rows() const { return rows_ != kUnknown; }

  int64_t slots() const { return slots_; }

  // What the buffer holds where the order begins, by ascending row. Later rows are read one a draw, from `next_row`.
  int64_t residents() const { return residents_; }
  Resident resident(int64_t i) const { return listed_.empty() ? Resident{base_ + i, i} : listed_[i]; }
  int64_t next_row() const;

  // All of these rows and of the later ones: the rows that are listed, then each from `from`.
  struct Rows {
    std::vector<int64_t> listed;
    int64_t from;
  };
  Rows rows() const;

  // Where all residents are in the buffer nobody asks for them again, and the list may go.
  void forget_residents() { listed_ = {}; }

  // The slot whose row comes out next. The caller takes the row, then puts the stream's next one into the same slot.
  int64_t next_slot();

 private:
  void rebuild(int64_t at);
  std::vector<int64_t> contents(int64_t drawn) const;
  int64_t bound(int64_t at) const { return at < steady_ ? slots_ : rows_ - at; }

  uint64_t key_;
  int64_t rows_;
  int64_t slots_;
  int64_t steady_;  // draws of an epoch for which the stream has a row to put in
  bool endless_;
  int64_t epoch_;
  int64_t base_;  // the stream's first row of the epoch
  int64_t at_;  // draws done in this epoch
  // The slot of each place of this epoch's buffer; while it empties, behind them those of the next epoch's, backwards.
  // Made for the first draw: there may be fewer rows than the buffer was to hold.
  std::vector<int64_t> places_;
  int64_t residents_;
  std::vector<Resident> listed_;  // none at an epoch's beginning: its first rows, each in the slot of its number
};

}  // namespace sexpgpu::dataio
