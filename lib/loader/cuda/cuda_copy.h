// Pinned memory and a copy stream, for the loader that decodes on the CPU.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "lib/loader/batch.h"

namespace feedrate {

// All return FailedPrecondition if this program was built without CUDA or there
// is no GPU. ResourceExhausted says how much memory was requested.

// Pinned pages, which the device reads directly, so that copies overlap with
// other work.
absl::StatusOr<std::unique_ptr<BatchMemory>> PinnedMemory();

// Copies on a stream of its own, which overlap with the device's other work.
// Waiting for a copy does not use the CPU.
absl::StatusOr<std::unique_ptr<DeviceCopy>> CudaCopy();

// Bytes per second of a copy from pinned memory to the device: the best of a
// few. Takes about 20 ms.
absl::StatusOr<double> CopyBytesPerSecond();

}  // namespace feedrate
