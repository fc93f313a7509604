// What a GPU could do at most for a loader.
#ifndef FEEDRATE_LIB_LOADER_CUDA_GPU_LIMITS_H_
#define FEEDRATE_LIB_LOADER_CUDA_GPU_LIMITS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/cuda/gpu_loader_options.h"
#include "lib/worker/loader_message.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// The rate of the engines alone, on whole files that lie in memory (at most 256
// of `files`, evenly), with nothing read, cropped or copied back; and what a
// copy from pinned memory moves. Each is the best of three rounds of a third of
// `seconds`.
absl::StatusOr<DeviceLimits> MeasureGpuLimits(
    const GpuLoaderOptions& options, const std::vector<SourceFile>& files,
    double seconds);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_GPU_LIMITS_H_
