// The copy stage of an epoch: a thread between the batches and the consumer.
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "lib/adapters/worker/timing_loop.h"
#include "lib/base/status_macros.h"
#include "lib/loader/epoch.h"

namespace feedrate {

void Epoch::StartCopying() {
  const int slots = loader_->copy_->slots();
  copied_ = std::make_unique<BoundedQueue<Copied>>(slots);
  free_slots_ = std::make_unique<BoundedQueue<int>>(slots);
  for (int slot = 0; slot < slots; ++slot) free_slots_->Push(slot);
  copier_ = std::thread([this] { CopyAll(); });
}

void Epoch::CopyAll() {
  for (;;) {
    const int64_t begin = MonotonicNs();
    const std::optional<int> slot = free_slots_->Pop();
    const int64_t got_slot = MonotonicNs();
    copy_wait_out_ns_ += got_slot - begin;
    if (!slot.has_value()) break;
    const absl::StatusOr<const LoaderBatch*> batch = NextOnHost();
    copy_wait_in_ns_ += MonotonicNs() - got_slot;
    copy_status_ = batch.status();
    if (!batch.ok() || *batch == nullptr) break;
    copy_status_ = CopyOne(*slot, **batch);
    if (!copy_status_.ok()) break;
  }
  copied_->Close();
}

absl::Status Epoch::CopyOne(int slot, const LoaderBatch& batch) {
  const int64_t begin = MonotonicNs();
  Copied copied;
  copied.batch = batch;
  copied.slot = slot;
  ASSIGN_OR_RETURN(copied.batch.data,
                   loader_->copy_->Copy(batch.data, batch.bytes(), slot));
  copy_ns_ += MonotonicNs() - begin;
  ring_.GiveBack();
  copied_->Push(std::move(copied));
  return absl::OkStatus();
}

absl::StatusOr<const LoaderBatch*> Epoch::NextCopied() {
  if (has_current_) free_slots_->Push(current_.slot);
  has_current_ = false;
  std::optional<Copied> next = copied_->Pop();
  if (!next.has_value()) {
    if (!copy_status_.ok()) return copy_status_;
    return nullptr;
  }
  current_ = *std::move(next);
  has_current_ = true;
  return &current_.batch;
}

}  // namespace feedrate
