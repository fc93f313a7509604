// What a GPU's engines and copies can do at most, for the limits of `pipeline`.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/cuda/gpu_work.h"
#include "lib/records/worker.pb.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Upper limits of a GPU for a loader: the rate of the engines alone on whole
// files in memory (at most 256 of `files`, evenly spaced), with nothing read,
// cropped or copied back; and the rate of a copy from pinned memory. Each is
// the best of three rounds of a third of `seconds`.
absl::StatusOr<DeviceLimits> MeasureGpuLimits(
    const GpuLoaderOptions& options, const std::vector<SourceFile>& files,
    double seconds);

}  // namespace feedrate
