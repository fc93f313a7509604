#include "lib/loader/cuda/batch_queue.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

int BatchQueue::Piece::PartnerOf(int i) const {
  const int own = PlaceOf(i);
  const int facing = size - 1 - own;
  if (facing == own) return -1;
  if (facing >= at && facing < at + count) return facing - at;
  if (facing >= mirror_at && facing < mirror_at + mirror_count) {
    return count + facing - mirror_at;
  }
  return -1;
}

BatchQueue::BatchQueue(int64_t count, int batch_size, int slots, bool paired)
    : count_(count),
      batch_size_(batch_size),
      slots_(slots),
      paired_(paired),
      missing_(slots, 0) {
  for (int64_t batch = 0; batch < slots; ++batch) {
    missing_[batch] = SizeOf(batch);
  }
}

int BatchQueue::SizeOf(int64_t batch) const {
  const int64_t left = count_ - batch * batch_size_;
  return static_cast<int>(std::clamp<int64_t>(left, 0, batch_size_));
}

std::optional<BatchQueue::Piece> BatchQueue::Take(int most) {
  std::unique_lock<std::mutex> lock(mutex_);
  // Batches before `free` have a slot; one in the consumer's hands keeps its.
  changed_.wait(lock, [&] {
    const int64_t free = delivered_ - (holding_ ? 1 : 0) + slots_;
    return stopped_ || SizeOf(batch_) == 0 || batch_ < free;
  });
  if (stopped_ || SizeOf(batch_) == 0) return std::nullopt;
  Piece piece;
  piece.batch = batch_;
  piece.slot = static_cast<int>(batch_ % slots_);
  piece.size = SizeOf(batch_);
  piece.at = at_;
  // The middle of an odd number faces itself and is in no mirror.
  const int units = paired_ ? (piece.size + 1) / 2 : piece.size;
  piece.count = std::min(paired_ ? std::max(1, most / 2) : most, units - at_);
  at_ += piece.count;
  if (paired_) {
    const bool middle = piece.size % 2 == 1 && at_ == units;
    piece.mirror_count = piece.count - (middle ? 1 : 0);
    piece.mirror_at = piece.size - piece.at - piece.mirror_count;
  }
  if (at_ == units) {
    ++batch_;
    at_ = 0;
  }
  return piece;
}

void BatchQueue::Done(const Piece& piece) {
  const std::lock_guard<std::mutex> lock(mutex_);
  missing_[piece.slot] -= piece.samples();
  if (missing_[piece.slot] == 0) changed_.notify_all();
}

absl::StatusOr<std::optional<BatchQueue::Batch>> BatchQueue::Next() {
  std::unique_lock<std::mutex> lock(mutex_);
  if (holding_) {
    // Its slot is for the batch that comes so many later.
    const int64_t old = delivered_ - 1;
    missing_[old % slots_] = SizeOf(old + slots_);
    holding_ = false;
    changed_.notify_all();
  }
  const int64_t batch = delivered_;
  if (batch * batch_size_ >= count_) return std::optional<Batch>();
  const int slot = static_cast<int>(batch % slots_);
  changed_.wait(lock, [&] { return stopped_ || missing_[slot] == 0; });
  if (!status_.ok()) return status_;
  if (stopped_) return std::optional<Batch>();
  ++delivered_;
  holding_ = true;
  return std::optional<Batch>(Batch{batch * batch_size_, SizeOf(batch), slot});
}

void BatchQueue::Fail(const absl::Status& status) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (status_.ok()) status_ = status;
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace feedrate
