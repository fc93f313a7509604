// Timing of calls on a device and of the epochs of a loader. timing_loop.h
// times calls on the CPU.
//
// On a device, a sample is the time between two marks on its stream. Calls are
// enqueued as fast as the library can, so a sample holds the device's work, or
// the time that the host takes to start it where that is longer. The marks,
// reading the device's clock and flushing its caches are outside.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/timing_loop.h"
#include "lib/machine/gpu.h"
#include "lib/worker/message.h"

namespace feedrate {

// Reads the device's clock. May be null.
using ReadClock = std::function<std::optional<GpuClock::Reading>()>;

// Calls transform->RunChunk by plan. `cold` flushes the caches before each
// sample. REQUIRES: transform->device() is not null; the plan is valid for
// TimeCalls.
TimeReply TimeOnDevice(const TimingPlan& plan, bool cold,
                       PreparedTransform* transform,
                       const ReadClock& read_clock);

// Returns how long this thread has waited for a processor in its life, if the
// kernel counts it.
std::optional<double> WaitedSeconds();

// Times the CPU in place of a device, so that the code for rows of a device can
// run without one.
class HostProbe : public DeviceProbe {
 public:
  void Flush() override { ++flushes_; }
  void Begin() override { begin_ns_ = MonotonicNs(); }
  double End() override {
    return static_cast<double>(MonotonicNs() - begin_ns_) * 1e-9;
  }
  void ResetPeaks() override {}
  Memory Peaks() override { return {}; }
  double CopyBytesPerSecond() override;
  std::string pci_bus_id() const override { return ""; }

  int64_t flushes() const { return flushes_; }

 private:
  int64_t begin_ns_ = 0;
  int64_t flushes_ = 0;
};

// The batches of one epoch. Destroying it at any moment stops what runs.
class BatchStream {
 public:
  struct Batch {
    // 0 means the epoch is over.
    int64_t items = 0;
    // Size of the tensor that was delivered.
    int64_t bytes = 0;
    // For a command with `ids`: the id that each item shows, if it shows one.
    std::vector<std::optional<int64_t>> ids = {};
  };

  virtual ~BatchStream() = default;

  // The next batch. It stays valid until the following call.
  virtual absl::StatusOr<Batch> Next() = 0;

  // Stops the workers (persistent ones may stay) and returns when they are
  // gone. Fills in what only the loader knows: stages, errors and errors_total.
  virtual absl::Status Finish(EpochReply* reply) = 0;
};

// Where an epoch of all ranks is: the checkpoint of our loaders.
struct EpochPosition {
  uint64_t seed = 0;
  int64_t epoch = 0;
  // Samples that all ranks together have delivered.
  int64_t done = 0;

  std::string ToText() const;
};

// Where the epoch of a command begins: at its state, if it has one.
// InvalidArgument if the state is not a position.
absl::StatusOr<EpochPosition> BeginOf(const EpochCommand& command);

using StartEpoch =
    std::function<absl::StatusOr<std::unique_ptr<BatchStream>>()>;

// Times one epoch. Every C++ loader uses this, so that their numbers mean the
// same. Starts the workers, takes all batches, simulates the training step
// after each, and stops the workers: all of that is the epoch. A step sleeps,
// like a program that waits for its accelerator. Returns the errors of the
// stream.
absl::StatusOr<EpochReply> TimeEpoch(const EpochCommand& command,
                                     const StartEpoch& start);

}  // namespace feedrate
