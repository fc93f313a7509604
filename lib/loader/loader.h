// A data loader: source -> read -> decode -> augment -> batch (-> device).
//
// Each worker takes one sample at a time from the bytes of a file to its place
// in the batch; batches are delivered in order. The same seed gives the same
// batches for any number of workers. See docs/loader.md for how it works, and
// examples/load_batches.cc for a whole program.
#pragma once

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
#include "lib/loader/epoch_report.h"
#include "lib/loader/made_source.h"
#include "lib/loader/options.h"
#include "lib/loader/source.h"
#include "lib/ops/epoch_order.h"

namespace feedrate {

class Epoch;
class JpegIndex;
class ReadAhead;
class SampleMaker;
class StoreParts;
struct SampleTimes;
class WorkerTeam;
template <typename T>
class BoundedQueue;

// Owns the source, batches and scratch memory that all epochs use.
class Loader {
 public:
  // InvalidArgument names the invalid option. `memory` and `copy` may be null:
  // ordinary pages, and no copy.
  static absl::StatusOr<std::unique_ptr<Loader>> Create(
      std::unique_ptr<Source> source, const LoaderOptions& options,
      std::unique_ptr<BatchMemory> memory = nullptr,
      std::unique_ptr<DeviceCopy> copy = nullptr);
  // The same for a source that makes its samples: the recipe, mixing and, if it
  // has an order, shuffling are left to it.
  static absl::StatusOr<std::unique_ptr<Loader>> Create(
      std::unique_ptr<MadeSource> source, const LoaderOptions& options,
      std::unique_ptr<BatchMemory> memory = nullptr);
  ~Loader();

  const Source& source() const { return *source_; }
  const LoaderOptions& options() const { return options_; }
  // Shape of every sample; of one that its source makes, its bytes.
  const SampleShape& shape() const { return shape_; }
  // Memory of batches on a device: see DeviceCopy.
  int64_t device_bytes() const {
    return copy_ == nullptr ? 0 : copy_->device_bytes();
  }

  // Empty, or why the index of JPEG files was not read or not written.
  const std::string& index_problem() const { return index_problem_; }

  // Allocates the memory for an epoch of this range, which StartEpoch does
  // otherwise.
  absl::Status ReserveFor(EpochRange range) {
    return ReserveCount(CountOf(range));
  }

  // Starts the workers. Draws depend on options().seed, `epoch` and the item.
  // REQUIRES: the previous epoch is destroyed.
  absl::StatusOr<std::unique_ptr<Epoch>> StartEpoch(int64_t epoch,
                                                    EpochRange range = {});
  // Same, with `seed` instead of the one in the options.
  absl::StatusOr<std::unique_ptr<Epoch>> StartEpoch(uint64_t seed,
                                                    int64_t epoch,
                                                    EpochRange range);
  // Same, for one of several processes. InvalidArgument if the share is not
  // possible.
  absl::StatusOr<std::unique_ptr<Epoch>> StartShare(uint64_t seed,
                                                    int64_t epoch,
                                                    const EpochShare& share);

  // Writes the sample of one item to `out`, as it is in this epoch before
  // mixing. REQUIRES: no epoch is running; a source that makes it is
  // in_memory().
  absl::Status MakeSample(uint64_t seed, int64_t epoch, int64_t item,
                          void* out);

 private:
  friend class Epoch;
  Loader(std::unique_ptr<Source> source, const LoaderOptions& options,
         std::unique_ptr<BatchMemory> memory);
  int threads() const { return static_cast<int>(read_buffers_.size()); }
  // Samples of an epoch over all processes.
  int64_t samples() const;
  // Number of samples of an epoch.
  int64_t CountOf(EpochRange range) const;
  absl::Status ReserveCount(int64_t count);
  absl::Status OpenIndex(const Recipe& recipe);
  void SaveIndex();
  absl::Status MakeFromBytes(SampleMaker* maker, int64_t item,
                             absl::string_view bytes, uint64_t seed, void* out,
                             SampleTimes* times);
  size_t block_bytes() const { return block_samples_ * shape().bytes(); }

  std::unique_ptr<Source> source_;
  // The source, if it makes its samples; otherwise null.
  MadeSource* made_ = nullptr;
  LoaderOptions options_;
  std::unique_ptr<BatchMemory> memory_;
  SampleShape shape_;
  // One per worker, of one of the two kinds.
  std::vector<std::unique_ptr<SampleMaker>> makers_;
  std::vector<std::unique_ptr<ItemMaker>> item_makers_;
  std::vector<std::unique_ptr<ReadBuffer>> read_buffers_;
  // One per batch buffer, allocated when an epoch first needs it.
  std::vector<std::unique_ptr<MemoryBlock>> blocks_;
  std::shared_ptr<BlockPool> pool_;
  int64_t block_samples_ = 0;
  // Null unless the options name one.
  std::unique_ptr<JpegIndex> index_;
  // Null unless there is an index of items in a store.
  std::unique_ptr<StoreParts> parts_;
  std::string index_problem_;
  // Destroyed before the batches that it copies from.
  std::unique_ptr<DeviceCopy> copy_;
  std::unique_ptr<WorkerTeam> team_;
};

// One pass over the items of a loader. Delivers batches in order until there
// are no more. Not thread-safe.
//
//   while (true) {
//     ASSIGN_OR_RETURN(const LoaderBatch* batch, epoch->Next());
//     if (batch == nullptr) break;
//     Train(batch->data);
//   }
//
// May be destroyed at any time: workers finish their current sample.
class Epoch {
 public:
  ~Epoch();
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  // Returns the next batch, or null after the last, and gives back the previous
  // one. Errors (an unusable file with OnError::kFail, or a worker that threw,
  // with the file's name) are final.
  absl::StatusOr<const LoaderBatch*> Next();

  // The same, but the caller keeps the batch for as long as it likes, and other
  // memory takes its place. An epoch is read by one of the two. REQUIRES: there
  // is no copy stage.
  absl::StatusOr<std::unique_ptr<KeptBatch>> NextKept();
  // True if NextKept need not wait; waits for that at most `seconds`.
  bool WaitFor(double seconds) {
    return loader_->options().workers == 0 || ring_.WaitFor(seconds);
  }

  // Ends the epoch: when it returns, workers have ended or wait for the next
  // epoch. Gives back the last batch.
  void Stop();

  int64_t batches() const { return ring_.batches(); }

  // Call after Stop.
  std::vector<StageReport> stages() const;
  // Seconds in which workers waited for a buffer and the copy thread for
  // copies: with a device, the cost of synchronizing with it.
  double sync_s() const;
  // Number of workers, and the copy thread.
  int threads() const;
  const FaultList& faults() const { return faults_; }

 private:
  friend class Loader;
  struct WorkerTimes;
  struct Copied {
    LoaderBatch batch;  // Data on the device.
    int slot = 0;
  };

  Epoch(Loader* loader, uint64_t seed, int64_t epoch, ItemOrder order,
        const BatchRingOptions& ring);
  // The item that replaces a bad one.
  int64_t Instead(int64_t bad, int64_t attempt) const;
  absl::Status Start();

  // For workers.
  void Work(int worker);
  void MakeAt(int worker, int64_t position);
  absl::Status MakeSlot(int worker, int64_t position, void* out);
  absl::Status MakeFromReads(int worker, int64_t position, void* out);
  absl::Status MakeReplacement(int worker, int64_t position,
                               const absl::Status& first, void* out);
  absl::Status MakeItem(int worker, int64_t position, int64_t item,
                        absl::string_view bytes, void* out);
  absl::Status Named(int64_t item, absl::StatusCode code,
                     absl::string_view reason) const;

  absl::StatusOr<const LoaderBatch*> NextOnHost();

  // For the copy stage.
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
  absl::Status copy_status_;  // Read after the copy thread closed copied_.
  Copied current_;            // The consumer's batch, if there is a copy stage.
  bool has_current_ = false;
  int64_t copy_ns_ = 0;
  int64_t copy_wait_in_ns_ = 0;
  int64_t copy_wait_out_ns_ = 0;
};

}  // namespace feedrate
