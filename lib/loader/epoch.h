// One pass over the items of a loader.
#ifndef FEEDRATE_LIB_LOADER_EPOCH_H_
#define FEEDRATE_LIB_LOADER_EPOCH_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch.h"
#include "lib/loader/batch_ring.h"
#include "lib/loader/bounded_queue.h"
#include "lib/loader/fault_list.h"
#include "lib/loader/item_order.h"
#include "lib/loader/loader.h"
#include "lib/loader/read_ahead.h"
#include "lib/loader/stage_report.h"

namespace feedrate {

// Delivers batches in order until there are no more. Not thread-safe.
//
//   while (true) {
//     ASSIGN_OR_RETURN(const LoaderBatch* batch, epoch->Next());
//     if (batch == nullptr) break;
//     Train(batch->data);
//   }
//
// May be destroyed at any time: workers finish the sample they are at.
class Epoch {
 public:
  ~Epoch();
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  // The next batch, or null after the last; the one before is given back. An
  // error (of a file with OnError::kFail, of a worker that threw, with the
  // file's name) is final.
  absl::StatusOr<const LoaderBatch*> Next();

  // Ends the epoch: workers are gone, or wait for the next one, when it
  // returns. The batch got last is given back.
  void Stop();

  int64_t batches() const { return ring_.batches(); }

  // After Stop.
  std::vector<StageReport> stages() const;
  const FaultList& faults() const { return faults_; }

 private:
  friend class Loader;
  // What one worker spent; on a cache line of its own.
  struct alignas(64) WorkerTimes {
    SampleTimes sample;
    int64_t read_ns = 0;  // For replacements of bad items.
    int64_t mix_ns = 0;
    int64_t wait_in_ns = 0;
    int64_t wait_out_ns = 0;
  };
  struct Copied {
    LoaderBatch batch;  // Its data on the device.
    int slot = 0;
  };

  Epoch(Loader* loader, uint64_t seed, int64_t epoch, EpochRange range);
  absl::Status Start();

  // Workers.
  void Work(int worker);
  void MakeAt(int worker, int64_t position);
  absl::Status MakeSlot(int worker, int64_t position, float* out);
  absl::Status MakeFromReads(int worker, int64_t position, float* out);
  absl::Status MakeReplacement(int worker, int64_t position,
                               const absl::Status& first, float* out);
  absl::Status MakeItem(int worker, int64_t item, absl::string_view bytes,
                        float* out);
  absl::Status Named(int64_t item, absl::StatusCode code,
                     absl::string_view reason) const;

  absl::StatusOr<const LoaderBatch*> NextOnHost();

  // Copy stage.
  void StartCopying();
  void CopyAll();
  absl::Status CopyOne(int slot, const LoaderBatch& batch);
  absl::StatusOr<const LoaderBatch*> NextCopied();

  Loader* const loader_;
  const uint64_t seed_;
  const int64_t epoch_;
  const ItemOrder order_;
  BatchRing ring_;
  FaultList faults_;
  std::unique_ptr<ReadAhead> reads_;
  std::vector<WorkerTimes> times_;
  std::atomic<int64_t> next_position_{0};
  bool stopped_ = false;

  std::unique_ptr<BoundedQueue<Copied>> copied_;
  std::unique_ptr<BoundedQueue<int>> free_slots_;
  std::thread copier_;
  absl::Status copy_status_;  // Of the copier; read once it has closed copied_.
  Copied current_;            // With the consumer, when there is a copier.
  bool has_current_ = false;
  int64_t copy_ns_ = 0;
  int64_t copy_wait_in_ns_ = 0;
  int64_t copy_wait_out_ns_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_EPOCH_H_
