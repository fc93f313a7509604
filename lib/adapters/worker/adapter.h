// What a library under test has to offer to be measured from C++.
//
// A worker program is one Adapter and one line of main (worker_main.h). The
// server side of the protocol, timing and outputs are the same for all.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_ADAPTER_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_ADAPTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/device_probe.h"
#include "lib/media/corpus.h"
#include "lib/worker/message.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Which transform, as the runner sends it: the entry of configs/transforms/
// and what the thread policy says.
using TransformSpec = PrepareCommand;

// One output, contiguous. A view: valid until the transform runs again.
struct Output {
  const void* data = nullptr;
  int64_t bytes = 0;
  // `uint8`, or `float32` in 0..1.
  std::string dtype;
  // `HWC` or `CHW`; of a clip `THWC` or `TCHW`.
  std::string layout;
  std::vector<int64_t> shape;
};

// What a call on a device reads and writes for one item.
struct DeviceBytes {
  int64_t in = 0;
  int64_t out = 0;
};

// A transform that is ready to run on the items of a corpus. Not thread-safe.
// Any method may throw what the library throws; the worker answers with it.
class PreparedTransform {
 public:
  virtual ~PreparedTransform() = default;

  // Starts the random draws over: equal seeds give equal draws.
  virtual void Seed(uint64_t seed) = 0;

  // The timed call: the transform and nothing else. The output is complete and
  // contiguous when it returns, and may be overwritten by the next call.
  virtual void Run(int64_t item) = 0;

  // The same work, with its output.
  virtual absl::StatusOr<Output> RunForOutput(int64_t item) = 0;

  // On a device. Run then only enqueues the work, and outputs stay there.

  // What times the device; null: the transform runs on the CPU.
  virtual DeviceProbe* device() { return nullptr; }
  // Items first … first+count-1, modulo `num_items`: one call where the library
  // takes batches, which are of `spec.batch` items at most, else one an item.
  virtual void RunChunk(int64_t first, int64_t count, int64_t num_items);
  virtual DeviceBytes BytesOf(int64_t item) { return {}; }

  // Of decoders that have an engine. Items a second that it decodes when
  // nothing else is done, measured when the decoder was made ready; 0: none.
  virtual double EngineItemsPerSecond() { return 0; }
  // Frames so far that the CPU decoded in its place.
  virtual int64_t CpuFrames() { return 0; }
  // Whether `spec.batch` asks for batches and items go one by one all the same.
  virtual bool per_sample_loop() const { return false; }
};

// What a loader reads; `source` of its spec says which.
struct LoaderInput {
  // `corpus`: decoded items, else null.
  const Corpus* corpus = nullptr;
  // `files` or `shards`: what to read, in this order.
  std::vector<SourceFile> files;
};

// A loader that is ready to run epochs, one at a time. Not thread-safe. May
// throw as a transform may.
class PreparedLoader {
 public:
  virtual ~PreparedLoader() = default;

  // The timed call; all fields of the reply are the loader's to fill, best by
  // TimeEpoch. Errors of files are told in the reply, or fail the epoch, as
  // `on_error` says.
  virtual absl::StatusOr<EpochReply> RunEpoch(const EpochCommand& command) = 0;

  // What the recipe makes of one item, batch transforms left out: float32 CHW.
  // The same seed gives the same tensor.
  virtual absl::StatusOr<Output> OutputFor(int64_t item, uint64_t seed) = 0;

  // Ends what the last epoch has left running, for loaders whose epochs leave
  // something: a mixture does, so that a teardown that hangs costs no result.
  // Seconds that it took.
  virtual absl::StatusOr<double> Stop() { return 0.0; }

  // As of a transform, with all threads of the loader.
  virtual double EngineItemsPerSecond() { return 0; }
};

// One library. Made in the server, before it forks: a constructor may load
// things but must not compute, since threads do not survive a fork.
class Adapter {
 public:
  virtual ~Adapter() = default;

  // As in configs/matrix.textproto.
  virtual std::string library() const = 0;
  virtual std::string version() const = 0;

  // Threads that the library says it will use. Asked after Prepare.
  virtual int threads() const { return 1; }

  // Applies the spec's thread settings and makes the transform; what can be
  // done once is done here, untimed. InvalidArgument names what the adapter
  // does not understand; no parameter is passed over in silence. `corpus`
  // outlives the result.
  virtual absl::StatusOr<std::unique_ptr<PreparedTransform>> Prepare(
      const TransformSpec& spec, const Corpus& corpus) = 0;

  // The same for a job whose spec has a `loader`, which is checked. What is no
  // loader refuses. `input` outlives the result.
  virtual absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const TransformSpec& spec, const LoaderInput& input);

  // The same for a job whose spec has a `mixture`, which is checked. What
  // cannot mix refuses. `sources` outlive the result.
  virtual absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareMixture(
      const TransformSpec& spec, const std::vector<MixtureSource>& sources);

  // The same for a job whose spec has a `decode`: Run decodes the clip of a
  // file, and its output is uint8 THWC. What is no decoder refuses. `files`
  // outlive the result.
  virtual absl::StatusOr<std::unique_ptr<PreparedTransform>> PrepareDecoder(
      const TransformSpec& spec, const std::vector<SourceFile>& files);
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_ADAPTER_H_
