// Files to batches on the device: CPU threads decode the part of a file that
// its crop needs, engines of the device decode whole files, and one launch does
// the rest.
#ifndef FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_H_
#define FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"

namespace feedrate {

struct GpuLoaderOptions {
  // Threads that decode on the CPU. 0: one where no engine is.
  int workers = 0;
  // Threads that feed nvJPEG's hardware engine, and its kernels.
  int hardware_threads = 0;
  int gpu_threads = 0;
};

// Of a loader job: `workers`, and the setting `nvjpeg` (auto, hardware, gpu,
// both or off). InvalidArgument names a setting that is not known.
absl::StatusOr<GpuLoaderOptions> GpuLoaderOptionsOf(const LoaderSpec& spec);

// `files` outlive it. What nvJPEG does not decode, the CPU does. Which of them
// decodes an item is a matter of time, and their pixels differ by a level or
// two, so batches are not the same to the bit from run to run.
absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeGpuLoader(
    const TransformSpec& spec, const std::vector<SourceFile>& files);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_H_
