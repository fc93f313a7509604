// The loader of the library `cuda`: files to batches on the device. CPU threads
// decode the part of a file that its crop needs, the device's engines decode
// whole files, and one kernel launch does the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/cuda/cuda_adapter.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/loader/batch.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/cuda/gpu_work.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/source/source.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/loader_message.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// `files` must outlive limits. The CPU decodes what nvJPEG does not. Timing
// decides which of them decodes an item, and their pixels differ by one or two
// levels, so batches differ slightly from run to run.
//
// With the ablation kDeviceLimits it reports the maximum rates of engines and
// copies instead.
absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeGpuLoader(
    const PrepareCommand& spec, const std::vector<SourceFile>& files);

// A batch on the device, complete: float32, count x 3 x crop x crop, unless the
// recipe has another format.
struct DeviceBatch {
  const float* data = nullptr;
  int count = 0;
  // Number of each sample in the list of files.
  std::vector<int64_t> items;
};

// The same loader for a consumer in this process, on the device that was the
// current one when it was made. Not thread-safe.
class DeviceLoader {
 public:
  virtual ~DeviceLoader() = default;

  // Ends the epoch before.
  virtual absl::Status StartEpoch(const EpochCommand& command) = 0;
  // Same, with the order, draws and pairs of Loader::StartShare
  // (lib/loader/loader.h).
  virtual absl::Status StartShare(uint64_t seed, int64_t epoch,
                                  const EpochShare& share) = 0;
  // The next batch, valid until the next call; without samples at the end of
  // the epoch.
  virtual absl::StatusOr<DeviceBatch> Next() = 0;
  // Same, null at the end, but the caller keeps the batch for as long as it
  // likes, and other memory takes its place. Its work on the device may go on
  // after that: it says so with MemoryBlock::UsedBy. An epoch is read by one of
  // the two.
  virtual absl::StatusOr<std::unique_ptr<KeptBatch>> NextKept() = 0;
  // True if the next batch is there; waits for that at most `seconds`.
  virtual bool WaitFor(double seconds) = 0;
  // Ends the epoch.
  virtual void EndEpoch() = 0;
  // Files that the current epoch could not use.
  virtual const FaultList& faults() const = 0;
};
// Of `spec` it uses batch size, workers, prefetch, crop, on_error, shuffle and
// settings. REQUIRES: the source has places, or is a RemoteSource.
absl::StatusOr<std::unique_ptr<DeviceLoader>> MakeDeviceLoader(
    const LoaderSpec& spec, GpuRecipe recipe, std::unique_ptr<Source> source);

class CudaLoaderAdapter : public CudaAdapter {
 public:
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const PrepareCommand& spec, const LoaderInput& input) override {
    return MakeGpuLoader(spec, input.files);
  }
};

}  // namespace feedrate
