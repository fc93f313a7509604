// Pinned memory and a copy stream for the loader that decodes on the CPU.
#ifndef FEEDRATE_LIB_LOADER_CUDA_CUDA_COPY_H_
#define FEEDRATE_LIB_LOADER_CUDA_CUDA_COPY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/loader/batch_memory.h"
#include "lib/loader/device_copy.h"

namespace feedrate {

// FailedPrecondition where this program was built without CUDA, or there is no
// GPU.
absl::StatusOr<std::unique_ptr<BatchMemory>> PinnedMemory();

// On a stream of its own, so that it runs beside what the device does.
absl::StatusOr<std::unique_ptr<DeviceCopy>> CudaCopy();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_CUDA_COPY_H_
