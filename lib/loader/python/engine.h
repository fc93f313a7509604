// What the C functions need of a loader: on the CPU, or on a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch.h"
#include "lib/loader/clips/clip_set.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/loader.h"
#include "lib/loader/made_source.h"
#include "lib/loader/python/settings.h"
#include "lib/loader/source.h"

namespace feedrate {

// Not thread-safe, but batches may be released by any thread.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual const Source& source() const = 0;
  virtual SampleShape shape() const = 0;

  // Starts an epoch, as Loader::StartShare does. REQUIRES: none is under way.
  virtual absl::Status Start(int64_t epoch, const EpochShare& share) = 0;
  // True if Next need not wait; waits for that at most `seconds`.
  virtual bool WaitFor(double seconds) = 0;
  // Null after the last batch.
  virtual absl::StatusOr<std::unique_ptr<KeptBatch>> Next() = 0;
  // Ends the epoch, if one is under way. Returns the items that it could not
  // use.
  virtual std::vector<ItemFault> End() = 0;
  // Null while no epoch is under way.
  virtual const FaultList* faults() const = 0;
  // Loader::index_problem.
  virtual std::string index_problem() const { return ""; }
};

// A GPU, and who decodes for it: see lib/loader/cuda/gpu_work.h.
struct LoaderGpuSettings {
  int device = 0;
  std::string nvjpeg;
};

using MakeGpuEngineFn = absl::StatusOr<std::unique_ptr<Engine>> (*)(
    std::unique_ptr<Source> source, const LoaderOptions& options,
    const LoaderGpuSettings& gpu);

// What makes clips on a GPU: ClipSetOptions::new_maker for clips of these
// options, and the memory of their batches.
struct GpuClips {
  std::function<std::unique_ptr<ItemMaker>(const ClipSet& set)> new_maker;
  std::unique_ptr<BatchMemory> memory;
};

using MakeGpuClipsFn =
    absl::StatusOr<GpuClips> (*)(const LoaderOptions& options, int device);

// Set by gpu_engine.cc in a library with CUDA, otherwise null.
extern MakeGpuEngineFn make_gpu_engine;
extern MakeGpuClipsFn make_gpu_clips;

// The GPU of the settings; -1 is the CPU. An error without CUDA in the library.
absl::StatusOr<int> GpuOf(Settings* settings);

// What was requested of a store so far, as JSON.
std::string DescribeTransfers(const RemoteSource& store);

}  // namespace feedrate
