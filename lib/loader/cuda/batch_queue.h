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
  // Samples at … at+count-1 of a batch and, where samples are mixed in pairs,
  // those that face them: mirror_at … mirror_at+mirror_count-1.
  struct Piece {
    int64_t batch = 0;
    int slot = 0;
    // Samples of the batch.
    int size = 0;
    int at = 0;
    int count = 0;
    int mirror_at = 0;
    int mirror_count = 0;

    int samples() const { return count + mirror_count; }
    // Place in the batch of the piece's own sample `i`.
    int PlaceOf(int i) const {
      return i < count ? at + i : mirror_at + i - count;
    }
    // Which of the piece's own samples faces sample `i`; -1: none but itself.
    int PartnerOf(int i) const;
  };
  struct Batch {
    int64_t first = 0;
    int count = 0;
    int slot = 0;
  };

  // `paired`: sample i of n comes with sample n-1-i. REQUIRES: all at least 1.
  BatchQueue(int64_t count, int batch_size, int slots, bool paired = false);

  // Up to `most` samples of one batch (two where they are paired, at least), as
  // soon as its slot is free. Absent: there is nothing left, or it was stopped.
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
  const bool paired_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // What is taken next: a batch, and a sample or pair of it.
  int64_t batch_ = 0;
  int at_ = 0;
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
