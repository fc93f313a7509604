// The loader for batches on a GPU. CPU threads decode the part of a file that
// its crop needs, the device's engines decode whole files, and one kernel
// launch does the rest.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/batch.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/cuda/gpu_work.h"
#include "lib/loader/epoch_report.h"
#include "lib/loader/options.h"
#include "lib/loader/source.h"
#include "lib/ops/epoch_order.h"

namespace feedrate {

// A batch on the device, complete: float32, count x 3 x crop x crop, unless the
// recipe has another format.
struct DeviceBatch {
  const float* data = nullptr;
  int count = 0;
  // Number of each sample in the source.
  std::vector<int64_t> items;
};

// What an epoch cost.
struct DeviceEpochReport {
  std::vector<StageReport> stages;
  // Seconds that the threads waited for the device, summed, and their number.
  double sync_s = 0;
  int64_t threads = 0;
  // Memory on the device, without what nvJPEG allocates itself.
  int64_t device_bytes = 0;
};

// Delivers to a consumer in this process, on the device that was the current
// one when it was made. The CPU decodes what nvJPEG does not. Timing decides
// which of them decodes an item, and their pixels differ by one or two levels,
// so batches differ slightly from run to run. Not thread-safe.
class DeviceLoader {
 public:
  virtual ~DeviceLoader() = default;

  // Shape of every sample.
  virtual SampleShape shape() const = 0;

  // Ends the epoch before. InvalidArgument if the range has no batch.
  virtual absl::Status StartEpoch(uint64_t seed, EpochRange range) = 0;
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
  // Empty, or why the index of JPEG files was not read or not written.
  virtual std::string index_problem() const { return ""; }
  // Files that the current epoch could not use.
  virtual const FaultList& faults() const = 0;
  // Describes the last epoch that has ended. REQUIRES: one has ended.
  virtual DeviceEpochReport report() const = 0;

  // Writes the sample of one item to `out` in host memory, as floats before
  // mixing. REQUIRES: no epoch is running.
  virtual absl::Status MakeSample(int64_t item, uint64_t seed, float* out) = 0;
};

// Who decodes: GpuLoaderOptionsOf, but by the CPU alone where nvJPEG was not
// asked for and is not installed.
absl::StatusOr<GpuLoaderOptions> UsableGpuOptions(
    int workers, const std::map<std::string, std::string>& settings);

// Of `options` it uses batch_size, buffers, drop_last, shuffle, on_error and
// jpeg_index; with one, nvJPEG decodes nothing.
// REQUIRES: the source has places, or is a RemoteSource.
absl::StatusOr<std::unique_ptr<DeviceLoader>> MakeDeviceLoader(
    std::unique_ptr<Source> source, const LoaderOptions& options,
    GpuRecipe recipe, const GpuLoaderOptions& decoders);

}  // namespace feedrate
