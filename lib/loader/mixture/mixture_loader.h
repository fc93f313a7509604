// Batches of pairs of frames, drawn by weight from many data sets of episodes.
//
//   ASSIGN_OR_RETURN(auto loader, MixtureLoader::Start(sources, options,
//   &memory)); for (;;) {
//     ASSIGN_OR_RETURN(const MixtureBatch* batch, loader->Next());
//     if (batch == nullptr) break;
//     Train(batch->frames, batch->size);
//   }
//
// docs/mixture.md says what is drawn how, and what each option does.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_LOADER_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_LOADER_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch_memory.h"
#include "lib/loader/batch_ring.h"
#include "lib/loader/bounded_queue.h"
#include "lib/loader/fault_list.h"
#include "lib/loader/mixture/dataset_stream.h"
#include "lib/loader/mixture/frame_decoder.h"
#include "lib/loader/mixture/mix_order.h"
#include "lib/loader/mixture/sample_metadata.h"
#include "lib/loader/stage_report.h"
#include "lib/loader/worker_team.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

struct MixtureOptions {
  // Checked, by CheckMixtureSpec.
  MixtureSpec spec;
  uint64_t seed = 0;
  // Samples in all; the last batch may be smaller.
  int64_t count = 0;
};

// `size` samples, one behind the other, each of two frames: uint8 NHWC of shape
// (size, 2, height, width, 3), contiguous.
struct MixtureBatch {
  int64_t index = 0;
  int size = 0;
  const uint8_t* frames = nullptr;
  FrameShape shape;
  // Of each sample: its data set's number among the sources.
  const std::vector<int64_t>* datasets = nullptr;
  // One a sample, filled in as the mode says; null for MetadataMode::kNone.
  const SampleMetadata* metadata = nullptr;

  int64_t bytes() const {
    return size * 2 * static_cast<int64_t>(shape.bytes());
  }
};

// Memory of batches, for one loader after the other.
class MixtureMemory {
 public:
  // Enough for the spec. ResourceExhausted when there is not so much.
  absl::Status Reserve(const MixtureSpec& spec);
  const std::vector<std::unique_ptr<MemoryBlock>>& blocks() const {
    return blocks_;
  }
  int64_t bytes() const { return block_bytes_ * blocks_.size(); }

 private:
  int64_t block_bytes_ = 0;
  std::vector<std::unique_ptr<MemoryBlock>> blocks_;
};

// The same seed gives the same batches for any parallelism and queue. Not
// thread-safe.
class MixtureLoader {
 public:
  // Opens the first episode of each data set and starts the threads. With
  // `on_error` skip, data sets without a usable episode are left out. `memory`
  // outlives it, and is reserved for the spec. REQUIRES: weights above 0.
  static absl::StatusOr<std::unique_ptr<MixtureLoader>> Start(
      const std::vector<MixtureSource>& sources, const MixtureOptions& options,
      const MixtureMemory* memory);
  // Stops.
  ~MixtureLoader();

  // Waits for the next batch; null after the last. It is the caller's until the
  // next call. An error is final.
  absl::StatusOr<const MixtureBatch*> Next();

  // Ends all threads and lets all files go. Idempotent.
  void Stop();

  // Names of sources that are no part of the mixture.
  const std::vector<std::string>& left_out() const { return left_out_; }
  const FaultList& faults() const { return faults_; }
  // REQUIRES: the last batch was taken, or Stop was called.
  std::vector<StageReport> stages() const;
  // Bytes that it takes at most, beside code and stacks, by the largest
  // episodes that it has met.
  int64_t memory_bound_bytes() const;

 private:
  struct Task {
    int64_t position = 0;
    int dataset = 0;  // Number among the sources.
    PlannedSample sample;
  };
  // What one decoding thread has of its own.
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
  void StartThreads();

  // Reading threads.
  void Read();
  // Opens one episode of the stream, if it wants one; `lock` is given up
  // meanwhile.
  bool OpenOne(DatasetStream* stream, std::unique_lock<std::mutex>* lock);

  // Decoding threads.
  void Decode(Worker* worker);
  bool TakeTasks(Worker* worker);
  // Until the stream can give the sample at `position`, or another thread has
  // taken that.
  absl::Status WaitFor(int64_t position, DatasetStream* stream,
                       std::unique_lock<std::mutex>* lock);
  void Fail(const absl::Status& status);
  // Takes samples that one thread decodes best: of one block and one episode.
  void TakeRun(int dataset, Worker* worker);
  void Request(int dataset);
  absl::Status Make(Worker* worker);
  absl::Status MakePair(Worker* worker, size_t at);
  // Decodes it, or copies it from an earlier pair that had it.
  absl::Status MakeFrame(Worker* worker, size_t at, int step, uint8_t* out);
  // For pairs of the episode that come in a later block.
  void KeepShared(Worker* worker);
  absl::Status Replace(Worker* worker, Task* task, uint8_t* out,
                       const absl::Status& first);
  void WriteMetadata(const Task& task);

  const MixtureOptions options_;
  const MixtureMemory& memory_;
  const FrameShape shape_;
  const MetadataMode metadata_mode_;
  std::vector<std::string> left_out_;
  FaultList faults_;
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
  bool ended_ = false;
  int64_t read_ns_ = 0;

  std::unique_ptr<BoundedQueue<int>> requests_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<WorkerTeam> readers_;
  std::unique_ptr<WorkerTeam> decoders_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_LOADER_H_
