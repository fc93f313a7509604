// A data loader: source -> read -> decode -> augment -> batch (-> device).
//
// Workers take samples from the bytes of a file to their place in the batch,
// one after the other; batches come out in order. The same seed gives the same
// batches for any number of workers. docs/loader.md tells how it works, and
// example.cc is ten lines.
#ifndef FEEDRATE_LIB_LOADER_LOADER_H_
#define FEEDRATE_LIB_LOADER_LOADER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch_memory.h"
#include "lib/loader/batch_mix.h"
#include "lib/loader/device_copy.h"
#include "lib/loader/read_ahead.h"
#include "lib/loader/recipe.h"
#include "lib/loader/sample_maker.h"
#include "lib/loader/source.h"
#include "lib/loader/worker_team.h"

namespace feedrate {

// A file that cannot be used. kSkip: the next item that can takes its place, so
// that batches keep their shape. kFail: the epoch ends.
enum class OnError { kSkip, kFail };

// What is left out, to learn what it costs. kNoDecode: every item has the
// pixels of the first one that the worker decoded; files are still read.
// kCachedBatch: nothing is read or made; batches are delivered as they are.
enum class Ablation { kNone, kNoAugment, kNoDecode, kCachedBatch };

struct LoaderOptions {
  Recipe recipe;
  MixOptions mix;
  int batch_size = 256;
  // Threads. 0: Next makes the batch itself.
  int workers = 2;
  // Batches in memory, with the one that the consumer has. 1: nothing is made
  // while the consumer is busy.
  int buffers = 2;
  // Threads outlive an epoch.
  bool persistent = false;
  // A last batch that is not full is left out.
  bool drop_last = false;
  bool shuffle = false;
  uint64_t seed = 0;
  OnError on_error = OnError::kSkip;
  ReadAheadOptions read_ahead;
  Ablation ablation = Ablation::kNone;
};

// Items first, first + 1, ..., modulo their number.
struct EpochRange {
  int64_t first = 0;
  int64_t count = -1;  // Negative: every item once.
};

class Epoch;

// Owns source, batches and scratch memory, which all epochs use.
class Loader {
 public:
  // InvalidArgument names what of the options cannot be. `memory` and `copy`
  // may be null: ordinary pages, and no copy.
  static absl::StatusOr<std::unique_ptr<Loader>> Create(
      std::unique_ptr<Source> source, const LoaderOptions& options,
      std::unique_ptr<BatchMemory> memory = nullptr,
      std::unique_ptr<DeviceCopy> copy = nullptr);
  ~Loader();

  const Source& source() const { return *source_; }
  const LoaderOptions& options() const { return options_; }
  // Of every sample.
  const SampleShape& shape() const { return makers_[0]->shape(); }
  // Of batches on a device: see DeviceCopy.
  int64_t device_bytes() const {
    return copy_ == nullptr ? 0 : copy_->device_bytes();
  }

  // Gets the memory that an epoch of this range needs, which StartEpoch else
  // does.
  absl::Status ReserveFor(EpochRange range);

  // Starts the workers. Draws depend on options().seed, `epoch` and the item.
  // REQUIRES: the epoch before is gone.
  absl::StatusOr<std::unique_ptr<Epoch>> StartEpoch(int64_t epoch,
                                                    EpochRange range = {});
  // The same with another seed than that of the options.
  absl::StatusOr<std::unique_ptr<Epoch>> StartEpoch(uint64_t seed,
                                                    int64_t epoch,
                                                    EpochRange range);

  // The sample of one item as it stands in a batch of this epoch before any
  // mixing, written to `out`. REQUIRES: no epoch runs.
  absl::Status MakeSample(uint64_t seed, int64_t epoch, int64_t item,
                          float* out);

 private:
  friend class Epoch;
  Loader(std::unique_ptr<Source> source, const LoaderOptions& options);
  // How many samples an epoch has.
  int64_t CountOf(EpochRange range) const;

  std::unique_ptr<Source> source_;
  LoaderOptions options_;
  std::unique_ptr<BatchMemory> memory_;
  // One for each worker.
  std::vector<std::unique_ptr<SampleMaker>> makers_;
  std::vector<std::unique_ptr<ReadBuffer>> read_buffers_;
  // One for each batch buffer, as soon as an epoch needs it.
  std::vector<std::unique_ptr<MemoryBlock>> blocks_;
  int64_t block_samples_ = 0;
  // Ends before the batches that it copies from.
  std::unique_ptr<DeviceCopy> copy_;
  std::unique_ptr<WorkerTeam> team_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_LOADER_H_
