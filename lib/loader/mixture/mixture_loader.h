// Batches of pairs of frames, drawn by weight from many data sets of episodes.
//
//   ASSIGN_OR_RETURN(auto loader,
//                    MixtureLoader::Start(sources, options, &memory));
//   for (;;) {
//     ASSIGN_OR_RETURN(const MixtureBatch* batch, loader->Next());
//     if (batch == nullptr) break;
//     Train(batch->frames, batch->size);
//   }
//
// docs/mixture.md explains the draws and the options.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/internal/worker_team.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/mixture_spec.h"

namespace feedrate {

// Metadata of a sample. Its memory is reused: strings and rows grow to the
// longest.
struct SampleMetadata {
  // Number of the data set among the sources. Set in modes dataset_only and
  // full.
  int dataset = 0;
  // The fields below are set in mode full. Step of the first frame.
  int64_t step = 0;
  std::string episode_id;
  std::string instruction;
  // Actions from the step of the first frame on, `action_chunk` rows.
  std::vector<float> action;
  // Rows at the end of `action` that are beyond the episode: they repeat its
  // last action.
  int action_padded = 0;
  std::vector<float> state;
};

struct MixtureOptions {
  // Checked by CheckMixtureSpec.
  MixtureSpec spec;
  uint64_t seed = 0;
  // Total number of samples. The last batch may be smaller.
  int64_t count = 0;
  // Samples of an interrupted mixture that were delivered, and come before
  // these. Nothing of them is decoded.
  int64_t done = 0;
  // What MixtureLoader::Places returned after these samples. Empty: their
  // episodes are opened again to find out.
  std::vector<StreamPlace> places;
};

// `size` samples of two frames each: uint8 NHWC of shape (size, 2, height,
// width, 3), contiguous.
struct MixtureBatch {
  int64_t index = 0;
  int size = 0;
  const uint8_t* frames = nullptr;
  FrameShape shape;
  // Data set of each sample, as a number among the sources.
  const std::vector<int64_t>* datasets = nullptr;
  // One per sample, filled in according to the mode; null for
  // MetadataMode::kNone.
  const SampleMetadata* metadata = nullptr;

  int64_t bytes() const {
    return size * 2 * static_cast<int64_t>(shape.bytes());
  }
};

// Memory for batches, used by one loader after another.
class MixtureMemory {
 public:
  // Allocates enough for the spec. ResourceExhausted if there is not enough
  // memory.
  absl::Status Reserve(const MixtureSpec& spec);
  const std::vector<std::unique_ptr<MemoryBlock>>& blocks() const {
    return blocks_;
  }
  int64_t bytes() const { return block_bytes_ * blocks_.size(); }

 private:
  int64_t block_bytes_ = 0;
  std::vector<std::unique_ptr<MemoryBlock>> blocks_;
};

// The same seed gives the same batches for any parallelism and queue depth. Not
// thread-safe.
class MixtureLoader {
 public:
  // Opens the first episode of each data set and starts the threads. If
  // `on_error` is skip, data sets without a usable episode are left out.
  // `memory` must outlive the loader and be reserved for the spec. REQUIRES:
  // all weights are above 0.
  static absl::StatusOr<std::unique_ptr<MixtureLoader>> Start(
      const std::vector<MixtureSource>& sources, const MixtureOptions& options,
      const MixtureMemory* memory);
  // Calls Stop.
  ~MixtureLoader();

  // Waits for the next batch; null after the last. Valid until the next call.
  // An error is final.
  absl::StatusOr<const MixtureBatch*> Next();

  // Where each source continues after the batches that Next returned, to
  // continue there with MixtureOptions::places. Sources that were left out have
  // an episode below 0.
  std::vector<StreamPlace> Places() const;

  // Ends all threads and closes all files. Idempotent.
  void Stop();

  // Names of sources that were left out of the mixture.
  const std::vector<std::string>& left_out() const { return left_out_; }
  const FaultList& faults() const { return faults_; }
  // REQUIRES: the last batch was taken, or Stop was called.
  std::vector<StageReport> stages() const;
  // Upper bound of its memory use, without code and stacks, from the largest
  // episodes seen so far.
  int64_t memory_bound_bytes() const;

 private:
  struct Task {
    int64_t position = 0;
    int dataset = 0;  // Number among the sources.
    PlannedSample sample;
  };
  // State of one decoding thread.
  struct Worker {
    FrameDecoder decoder;
    std::vector<Task> tasks;
    std::vector<uint8_t*> places;
    int64_t decode_ns = 0;
    int64_t wait_in_ns = 0;
    int64_t wait_out_ns = 0;
  };

  MixtureLoader(const MixtureOptions& options, const MixtureMemory& memory);
  absl::Status OpenSources(const std::vector<MixtureSource>& sources);
  absl::Status OpenFirst(DatasetStream* stream);
  // Takes the samples that are done from their streams.
  absl::Status SkipDone();
  absl::Status StartThreads();
  // REQUIRES: mutex_ is held, or no thread runs.
  std::vector<StreamPlace> CurrentPlaces() const;

  // For reading threads.
  void Read();
  // Opens one episode of the stream, if it wants one. Releases `lock`
  // meanwhile.
  bool OpenOne(DatasetStream* stream, std::unique_lock<std::mutex>* lock);

  // For decoding threads.
  void Decode(Worker* worker);
  bool TakeTasks(Worker* worker);
  // Waits until the stream can give the sample at `position`, or another thread
  // has taken it.
  absl::Status WaitFor(int64_t position, DatasetStream* stream,
                       std::unique_lock<std::mutex>* lock);
  void Fail(const absl::Status& status);
  // Takes samples that one thread should decode together: of one block and one
  // episode.
  void TakeRun(int dataset, Worker* worker);
  void Request(int dataset);
  absl::Status Make(Worker* worker);
  absl::Status MakePair(Worker* worker, size_t at);
  // Decodes the frame, or copies it from an earlier pair that had it.
  absl::Status MakeFrame(Worker* worker, size_t at, int step, uint8_t* out);
  // Keeps frames for pairs of the episode that come in a later block.
  void KeepShared(Worker* worker);
  absl::Status Replace(Worker* worker, Task* task, uint8_t* out,
                       const absl::Status& first);
  void WriteMetadata(const Task& task);

  const MixtureOptions options_;
  const MixtureMemory& memory_;
  const FrameShape shape_;
  const MetadataMode metadata_mode_;
  std::vector<std::string> left_out_;
  FaultList faults_ = FaultList::OfPasses();
  std::vector<std::vector<SampleMetadata>> metadata_;  // By buffer.
  BatchRing ring_;
  MixtureBatch batch_;

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::vector<std::unique_ptr<DatasetStream>> streams_;
  std::vector<int> source_numbers_;  // By stream.
  std::unique_ptr<MixOrder> order_;
  std::vector<bool> requested_;  // By stream.
  int64_t next_position_ = 0;
  size_t sources_ = 0;
  int64_t delivered_ = 0;  // Batches.
  // Places before each batch that is being made or waits, in their order.
  std::deque<std::pair<int64_t, std::vector<StreamPlace>>> places_before_;
  bool ended_ = false;
  int64_t read_ns_ = 0;

  std::unique_ptr<BoundedQueue<int>> requests_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<WorkerTeam> readers_;
  std::unique_ptr<WorkerTeam> decoders_;
};

}  // namespace feedrate
