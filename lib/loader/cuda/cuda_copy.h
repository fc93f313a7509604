// Pinned memory and a copy stream for the loader that decodes on the CPU.
#ifndef FEEDRATE_LIB_LOADER_CUDA_CUDA_COPY_H_
#define FEEDRATE_LIB_LOADER_CUDA_CUDA_COPY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/loader/batch_memory.h"
#include "lib/loader/device_copy.h"

namespace feedrate {

// All are FailedPrecondition where this program was built without CUDA, or
// there is no GPU; ResourceExhausted says how much memory was asked for.

// Pages that the device reads by itself, for copies beside everything else.
absl::StatusOr<std::unique_ptr<BatchMemory>> PinnedMemory();

// On a stream of its own, so that it runs beside what the device does. Who
// waits for a copy leaves the processor to others.
absl::StatusOr<std::unique_ptr<DeviceCopy>> CudaCopy();

// Bytes a second of a copy from pinned memory to the device, the best of a few;
// some 20 ms.
absl::StatusOr<double> CopyBytesPerSecond();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_CUDA_COPY_H_
