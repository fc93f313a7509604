// Files to batches on the device: CPU threads decode the part of a file that
// its crop needs, engines of the device decode whole files, and one launch does
// the rest.
#ifndef FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_H_
#define FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// `files` outlive it. What nvJPEG does not decode, the CPU does. Which of them
// decodes an item is a matter of time, and their pixels differ by a level or
// two, so batches are not the same to the bit from run to run.
//
// With the ablation kDeviceLimits it is what tells how fast engines and copies
// are at best.
absl::StatusOr<std::unique_ptr<PreparedLoader>> MakeGpuLoader(
    const TransformSpec& spec, const std::vector<SourceFile>& files);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_GPU_LOADER_H_
