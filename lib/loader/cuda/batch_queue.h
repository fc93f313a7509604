// Who makes which samples, and when a batch is whole. No GPU in it.
#ifndef FEEDRATE_LIB_LOADER_CUDA_BATCH_QUEUE_H_
#define FEEDRATE_LIB_LOADER_CUDA_BATCH_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

// Samples 0 … count-1 in batches of `batch_size`, of which `slots` exist at a
// time. Makers take pieces of different sizes, so that a slow decoder and a
// fast one work on the same batch. Thread-safe.
class BatchQueue {
 public:
  struct Piece {
    // Position of its first sample.
    int64_t first = 0;
    int count = 0;
    // Where it goes: which slot, and from which sample of the batch on.
    int slot = 0;
    int at = 0;
  };
  struct Batch {
    int64_t first = 0;
    int count = 0;
    int slot = 0;
  };

  // REQUIRES: all at least 1.
  BatchQueue(int64_t count, int batch_size, int slots);

  // Up to `most` samples of one batch, as soon as its slot is free. Absent:
  // there is nothing left, or it was stopped.
  std::optional<Piece> Take(int most);
  void Done(const Piece& piece);

  // The next batch, in order, once it is whole. The one before is given back.
  // Absent: the epoch is over. Fails with what Fail was told.
  absl::StatusOr<std::optional<Batch>> Next();

  // Everybody comes back from Take and Next; the first error is kept. OK: the
  // epoch is to end early.
  void Fail(const absl::Status& status);

 private:
  int SizeOf(int64_t batch) const;

  const int64_t count_;
  const int batch_size_;
  const int slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // Samples taken.
  int64_t taken_ = 0;
  // Batches that the consumer has had; the last of them may be in its hands.
  int64_t delivered_ = 0;
  bool holding_ = false;
  // Samples that are still missing, by slot.
  std::vector<int> missing_;
  bool stopped_ = false;
  absl::Status status_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_BATCH_QUEUE_H_
