#include "lib/loader/cuda/batch_queue.h"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

int BatchQueue::Piece::PartnerOf(int i) const {
  if (!paired) return -1;
  const int facing = size - 1 - places[i];
  if (facing == places[i]) return -1;
  return i > 0 && places[i - 1] == facing ? i - 1 : i + 1;
}

BatchQueue::BatchQueue(int64_t count, int batch_size, int slots, bool paired,
                       Cost cost)
    : count_(count),
      batch_size_(batch_size),
      slots_(slots),
      paired_(paired),
      cost_(std::move(cost)),
      missing_(slots, 0) {
  for (int64_t batch = 0; batch < slots; ++batch) {
    missing_[batch] = SizeOf(batch);
  }
}

int BatchQueue::SizeOf(int64_t batch) const {
  const int64_t left = count_ - batch * batch_size_;
  return static_cast<int>(std::clamp<int64_t>(left, 0, batch_size_));
}

// Puts what is in the batch into the order of its costs.
void BatchQueue::OpenBatch() {
  const int size = SizeOf(batch_);
  // The middle of an odd number faces itself.
  units_.resize(paired_ ? (size + 1) / 2 : size);
  std::iota(units_.begin(), units_.end(), 0);
  low_ = 0;
  high_ = static_cast<int>(units_.size());
  if (cost_ == nullptr) return;
  const int64_t first = batch_ * batch_size_;
  std::vector<double> costs;
  for (const int unit : units_) {
    costs.push_back(cost_(first + unit));
    if (paired_) costs.back() += cost_(first + size - 1 - unit);
  }
  std::stable_sort(units_.begin(), units_.end(),
                   [&](int a, int b) { return costs[a] < costs[b]; });
}

std::optional<BatchQueue::Piece> BatchQueue::Take(int most, End end) {
  std::unique_lock<std::mutex> lock(mutex_);
  // Batches before `free` have a slot; one in the consumer's hands keeps its.
  changed_.wait(lock, [&] {
    const int64_t free = delivered_ - (holding_ ? 1 : 0) + slots_;
    return stopped_ || SizeOf(batch_) == 0 || batch_ < free;
  });
  if (stopped_ || SizeOf(batch_) == 0) return std::nullopt;
  if (low_ == high_) OpenBatch();
  Piece piece;
  piece.batch = batch_;
  piece.slot = static_cast<int>(batch_ % slots_);
  piece.size = SizeOf(batch_);
  piece.paired = paired_;
  const int units =
      std::min(paired_ ? std::max(1, most / 2) : most, high_ - low_);
  if (end == End::kHigh) high_ -= units;
  const int first = end == End::kHigh ? high_ : low_;
  if (end == End::kLow) low_ += units;
  for (int i = first; i < first + units; ++i) {
    const int facing = piece.size - 1 - units_[i];
    piece.places.push_back(units_[i]);
    if (paired_ && facing != units_[i]) piece.places.push_back(facing);
  }
  if (low_ == high_) ++batch_;
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
