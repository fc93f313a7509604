// Who makes which samples, and when a batch is whole. No GPU in it.
#ifndef FEEDRATE_LIB_LOADER_CUDA_BATCH_QUEUE_H_
#define FEEDRATE_LIB_LOADER_CUDA_BATCH_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

// Samples 0 … count-1 in batches of `batch_size`, of which `slots` exist at a
// time. Makers take pieces of different sizes, so that a slow decoder and a
// fast one work on the same batch, and each from its end of it. Thread-safe.
class BatchQueue {
 public:
  // Samples of a batch that one maker makes.
  struct Piece {
    int64_t batch = 0;
    int slot = 0;
    // Samples of the batch.
    int size = 0;
    // Of the piece's samples, in the batch.
    std::vector<int> places;
    // Place p faces place size-1-p, and both are in the piece, side by side.
    bool paired = false;

    int samples() const { return static_cast<int>(places.size()); }
    // Which of the piece's samples faces its sample `i`; -1: none but itself.
    int PartnerOf(int i) const;
  };
  struct Batch {
    int64_t first = 0;
    int count = 0;
    int slot = 0;
  };
  // What sample `position` of the epoch is to those who take from the low end,
  // against what it is to the others.
  using Cost = std::function<double(int64_t position)>;
  enum class End { kLow, kHigh };

  // `paired`: sample i of n comes with sample n-1-i. Without `cost` samples are
  // taken in their order. REQUIRES: numbers are at least 1.
  BatchQueue(int64_t count, int batch_size, int slots, bool paired = false,
             Cost cost = nullptr);

  // Up to `most` samples of one batch (two where they are paired, at least), as
  // soon as its slot is free: those that cost least, or most. Absent: there is
  // nothing left, or it was stopped.
  std::optional<Piece> Take(int most, End end = End::kLow);
  void Done(const Piece& piece);

  // The next batch, in order, once it is whole. The one before is given back.
  // Absent: the epoch is over. Fails with what Fail was told.
  absl::StatusOr<std::optional<Batch>> Next();

  // Everybody comes back from Take and Next; the first error is kept. OK: the
  // epoch is to end early.
  void Fail(const absl::Status& status);

 private:
  int SizeOf(int64_t batch) const;
  void OpenBatch();

  const int64_t count_;
  const int batch_size_;
  const int slots_;
  const bool paired_;
  const Cost cost_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // The batch that is given out, and what is left of it: samples, or the first
  // of each pair, by cost, from low_ to before high_.
  int64_t batch_ = 0;
  std::vector<int> units_;
  int low_ = 0;
  int high_ = 0;
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
