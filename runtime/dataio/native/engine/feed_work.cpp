// The work on a run: cutting records out of it, and converting them.
#include <exception>
#include <new>

#include "engine/feed_run.h"

namespace sexpgpu::dataio {
namespace {

// Calls `f` and gives what went wrong.
template <typename F>
std::optional<Fault> caught(const FileName& file, F&& f) {
  const std::string& name = file.name;
  try {
    f();
    return std::nullopt;
  } catch (const FaultError& error) {
    return with_manifest(error.fault(), file);
  } catch (const std::bad_alloc&) {
    return Fault{.code = "E-DATA-014", .message = "no memory is left to decode " + quoted(name)};
  } catch (const std::exception& error) {
    return Fault{.code = "E-STORE-004", .message = quoted(name) + " could not be decoded", .notes = {error.what()}};
  }
}

}  // namespace

void Feed::work(const Task& task, std::unique_lock<std::mutex>& lock) {
  if (!task.ahead) return advance(task.run, lock);
  const auto stream = task.run->stream;
  lock.unlock();
  std::shared_ptr<Ahead> unit;
  // What goes wrong is met again by the thread that needs these bytes.
  static_cast<void>(caught(FileName{}, [&] { unit = stream->ahead(); }));
  lock.lock();
  task.run->reading = false;
  if (!unit) return;
  wake_();
  lock.unlock();
  static_cast<void>(caught(FileName{}, [&] { unit->run(); }));
  lock.lock();
}

// Whether any of the next records of a run is asked for: yes, where that cannot be told.
bool Feed::wanted(const Run& run, int64_t records) const {
  if (!demand_) return true;
  const int64_t at = run.first + run.cut;
  const int64_t next = demand_->next(at);
  return next >= 0 && next < at + records;
}

void Feed::advance(const std::shared_ptr<Run>& run, std::unique_lock<std::mutex>& lock) {
  auto stream = run->stream;
  const FileName& name = layout_->files()[run->file].name;
  const int64_t skips = ledger_->skips();
  lock.unlock();
  std::unique_ptr<Job> job;
  std::optional<Fault> fault = caught(name, [&] {
    if (!stream) stream = layout_->reader(run->file)->stream(run->section, limits_.piece_bytes);
    job = stream->advance();
  });
  lock.lock();
  run->advancing = false;
  if (run->dropped || run->fault) return;
  run->stream = stream;
  if (fault || !job) {
    run->fault = std::move(fault);
    run->done = true;
    run->stream.reset();  // the decoder's buffers go as soon as its last row is out
    return;
  }
  auto slot = std::make_shared<Slot>();
  slot->records = job->records;
  slot->start = job->start;
  const bool convert = wanted(*run, job->records);
  run->cut += job->records;
  if (demand_) {
    // What nobody asks for at the end of a run is not decoded.
    const int64_t later = demand_->next(run->first + run->cut);
    if (run->first + run->cut >= run->end || later < 0 || later >= run->end) {
      run->done = true;
      run->stream.reset();
    }
  }
  run->slots.push_back(slot);
  if (!convert) {
    slot->passed = job->records;
    return;
  }
  slot->busy = true;
  slot->held = job->records;
  held_rows_ += slot->held;
  ++queued_;
  wake_();
  lock.unlock();
  auto piece = std::make_shared<Piece>();
  fault = caught(name, [&] { *piece = job->convert(skips); });
  if (fault) *piece = Piece{0, {}, {}, std::move(fault)};
  job.reset();
  lock.lock();
  slot->busy = false;
  slot->piece = std::move(piece);
  if (!slot->gone) {
    held_rows_ += slot->piece->rows - slot->held;
    slot->held = slot->piece->rows;
  }
  if (slot->piece->fault) run->done = true;  // nothing behind it is read
}

}  // namespace sexpgpu::dataio
