// Who decodes for the loader of cuda. Needs no GPU.
#ifndef FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_OPTIONS_H_
#define FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_OPTIONS_H_

#include "absl/status/statusor.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

struct GpuLoaderOptions {
  // Threads that decode on the CPU. 0: one where no engine is.
  int workers = 0;
  // Threads that feed nvJPEG's hardware engine, and its kernels.
  int hardware_threads = 0;
  int gpu_threads = 0;
  // Nobody has asked for nvJPEG: where it is not installed the CPU decodes.
  bool nvjpeg_optional = false;
};

// Of a loader job: `workers`, and the settings `nvjpeg` (auto, hardware, gpu,
// both or off) and `nvjpeg_threads`, which feed each of these. InvalidArgument
// names a setting that is not known.
absl::StatusOr<GpuLoaderOptions> GpuLoaderOptionsOf(const LoaderSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_OPTIONS_H_
