// The interface of a library that is measured from C++.
//
// A worker program is one Adapter and one line of main (server.h). The server
// side of the protocol, timing and outputs are the same for all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/media/corpus.h"
#include "lib/ops/params.h"
#include "lib/worker/message.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// A device that can be timed, on the stream that a transform enqueues its work
// on. Methods may throw what the library throws. Not thread-safe.
class DeviceProbe {
 public:
  struct Memory {
    // The largest amounts in use and taken from the device since ResetPeaks.
    int64_t peak_allocated_bytes = 0;
    int64_t peak_reserved_bytes = 0;
  };

  virtual ~DeviceProbe() = default;

  // Evicts inputs and outputs from the device's caches, and waits.
  virtual void Flush() = 0;
  // Marks the stream.
  virtual void Begin() = 0;
  // Marks it again, waits for the mark, and returns the seconds between the
  // marks by the device's own clock.
  virtual double End() = 0;

  virtual void ResetPeaks() = 0;
  virtual Memory Peaks() = 0;

  // Bytes read plus bytes written per second by a copy within its memory.
  virtual double CopyBytesPerSecond() = 0;
  // As NVML knows it. Empty means the device has no clock to read.
  virtual std::string pci_bus_id() const = 0;
};

// The transform that a runner asks for.
TransformSpec TransformOf(const PrepareCommand& command);

// One output, contiguous. A view: valid until the transform runs again.
struct Output {
  const void* data = nullptr;
  int64_t bytes = 0;
  // `uint8`, or `float32` in 0..1.
  std::string dtype;
  // `HWC` or `CHW`; for a clip `THWC` or `TCHW`.
  std::string layout;
  std::vector<int64_t> shape;
};

// Bytes that a call on a device reads and writes for one item.
struct DeviceBytes {
  int64_t in = 0;
  int64_t out = 0;
};

// A transform that is ready to run on the items of a corpus. Not thread-safe.
// Any method may throw what the library throws; the worker reports it in its
// reply.
class PreparedTransform {
 public:
  virtual ~PreparedTransform() = default;

  // Restarts the random draws: equal seeds give equal draws.
  virtual void Seed(uint64_t seed) = 0;

  // The timed call: the transform and nothing else. The output is complete and
  // contiguous when it returns, and may be overwritten by the next call.
  virtual void Run(int64_t item) = 0;

  // The same work, with its output.
  virtual absl::StatusOr<Output> RunForOutput(int64_t item) = 0;

  // On a device. Run then only enqueues the work, and outputs stay there.

  // What times the device. Null means the transform runs on the CPU.
  virtual DeviceProbe* device() { return nullptr; }
  // Runs items first … first+count-1, modulo `num_items`: one call where the
  // library takes batches, which have at most `spec.batch()` items, else one
  // call per item.
  virtual void RunChunk(int64_t first, int64_t count, int64_t num_items);
  virtual DeviceBytes BytesOf(int64_t item) { return {}; }

  // For decoders with a hardware engine: items per second that the engine
  // decodes when nothing else is done, measured when the decoder was prepared.
  // 0 means there is no engine.
  virtual double EngineItemsPerSecond() { return 0; }
  // Frames so far that the CPU decoded in place of the engine.
  virtual int64_t CpuFrames() { return 0; }
  // True when `spec.batch()` asks for batches but items are processed one by
  // one.
  virtual bool per_sample_loop() const { return false; }
};

// What a loader reads. The spec's `source` says which of these is set.
struct LoaderInput {
  // For `corpus`: decoded items. Otherwise null.
  const Corpus* corpus = nullptr;
  // For `files` or `shards`: the files to read, in this order.
  std::vector<SourceFile> files;
};

// A loader that is ready to run epochs, one at a time. Not thread-safe. May
// throw like a transform.
class PreparedLoader {
 public:
  virtual ~PreparedLoader() = default;

  // The timed call. The loader fills all fields of the reply, best by TimeEpoch
  // (timing.h). Errors in files are listed in the reply or fail the epoch,
  // depending on `on_error`.
  virtual absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) = 0;

  // The output of the recipe for one item, without batch transforms: float32
  // CHW. The same seed gives the same tensor.
  virtual absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) = 0;

  // Stops what the last epoch left running, and returns the seconds that it
  // took. Only mixtures leave something running, so that a teardown that hangs
  // does not cost the result.
  virtual absl::StatusOr<double> Stop() { return 0.0; }

  // As PreparedTransform::EngineItemsPerSecond, with all threads of the loader.
  virtual double EngineItemsPerSecond() { return 0; }
};

// One library. Constructed in the server, before it forks: the constructor may
// load things but must not compute, since threads do not survive a fork.
class Adapter {
 public:
  virtual ~Adapter() = default;

  // As in configs/matrix.textproto.
  virtual std::string library() const = 0;
  virtual std::string version() const = 0;

  // Number of threads that the library says it will use. Called after Prepare.
  virtual int threads() const { return 1; }

  // Applies the spec's thread settings and makes the transform; what can be
  // done once is done here, untimed. InvalidArgument names what the adapter
  // does not understand; no parameter is silently ignored. `corpus` outlives
  // the result.
  virtual absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) = 0;

  // The same for a job whose spec has a `loader`, which has been checked.
  // Adapters that are not loaders return an error. `input` outlives the result.
  virtual absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input);

  // The same for a job whose spec has a `mixture`, which has been checked.
  // Adapters that cannot mix return an error. `sources` outlive the result.
  virtual absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareMixture(
      const PrepareCommand& spec, const std::vector<MixtureSource>& sources);

  // The same for a job whose spec has a `decode`: Run decodes the clip of a
  // file, and its output is uint8 THWC. Adapters that are not decoders return
  // an error. `files` outlive the result.
  virtual absl::StatusOr<std::unique_ptr<PreparedTransform>> PrepareDecoder(
      const PrepareCommand& spec, const std::vector<SourceFile>& files);
};

// The interface of a loader that is measured from C++: an adapter that loads
// data and has no transforms of its own. Time its epochs by TimeEpoch
// (timing.h), so that the numbers of all loaders mean the same.
class LoaderAdapter : public Adapter {
 public:
  // Returns an error: such a job is for a library of transforms.
  absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const PrepareCommand& spec, const Corpus& corpus) final;

  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override = 0;
};

}  // namespace feedrate
