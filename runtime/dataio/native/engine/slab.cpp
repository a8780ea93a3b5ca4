#include "engine/slab.h"

namespace sexpgpu::dataio {

SlabShape::SlabShape(const std::vector<Field>& fields, int64_t rows_) : rows(rows_) {
  for (const auto& field : fields) {
    offset.push_back(bytes);
    row_bytes.push_back(field.bytes);
    bytes += round_to_pages(rows * field.bytes);
  }
}

std::shared_ptr<Pages> SlabPool::acquire() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto slab = std::move(free_.back());
      free_.pop_back();
      return slab;
    }
  }
  return std::make_shared<Pages>(shape_.bytes);
}

void SlabPool::give_back(std::shared_ptr<Pages> slab) {
  // In a forked child nobody fills slabs, and the lock may be held by a thread that is not there.
  if (::getpid() != pid_) return;
  const std::lock_guard lock(mutex_);
  if (free_.size() < keep_) free_.push_back(std::move(slab));
}

}  // namespace sexpgpu::dataio
