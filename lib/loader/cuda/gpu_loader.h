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
#include "lib/loader/cuda/gpu_work.h"
#include "lib/loader/epoch_report.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/loader_message.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// `files` must outlive the result. The CPU decodes what nvJPEG does not. Timing
// decides which of them decodes an item, and their pixels differ by one or two
// levels, so batches differ slightly from run to run.
//
// With the ablation kDeviceLimits it reports the maximum rates of engines and
// copies instead.
absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeGpuLoader(
    const TransformSpec& spec, const std::vector<SourceFile>& files);

// A batch on the device, complete: float32, count x 3 x crop x crop.
struct DeviceBatch {
  const float* data = nullptr;
  int count = 0;
  // Number of each sample in the list of files.
  std::vector<int64_t> items;
};

// The same loader for a consumer in this process. Not thread-safe.
class DeviceLoader {
 public:
  virtual ~DeviceLoader() = default;

  // Ends the epoch before.
  virtual absl::Status StartEpoch(const EpochCommand& command) = 0;
  // The next batch, valid until the next call; without samples at the end of
  // the epoch.
  virtual absl::StatusOr<DeviceBatch> Next() = 0;
  // Files that the current epoch could not use.
  virtual const FaultList& faults() const = 0;
};
// `files` must outlive the result.
absl::StatusOr<std::unique_ptr<DeviceLoader>> MakeDeviceLoader(
    const TransformSpec& spec, const std::vector<SourceFile>& files);

// Upper limits of a GPU for a loader: the rate of the engines alone on whole
// files in memory (at most 256 of `files`, evenly spaced), with nothing read,
// cropped or copied back; and the rate of a copy from pinned memory. Each is
// the best of three rounds of a third of `seconds`.
absl::StatusOr<DeviceLimits> MeasureGpuLimits(
    const GpuLoaderOptions& options, const std::vector<SourceFile>& files,
    double seconds);

class CudaLoaderAdapter : public CudaAdapter {
 public:
  absl::StatusOr<std::unique_ptr<PreparedLoader>> PrepareLoader(
      const TransformSpec& spec, const LoaderInput& input) override {
    return MakeGpuLoader(spec, input.files);
  }
};

}  // namespace feedrate
