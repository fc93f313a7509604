// What a program is told that was built without CUDA.
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/loader/cuda/cuda_copy.h"

namespace feedrate {
namespace {

absl::Status BuiltWithout() {
  return absl::FailedPreconditionError(
      "this worker was built without CUDA; build it with --config=cuda, or use "
      "device cpu");
}

}  // namespace

absl::StatusOr<std::unique_ptr<BatchMemory>> PinnedMemory() {
  return BuiltWithout();
}

absl::StatusOr<std::unique_ptr<DeviceCopy>> CudaCopy() {
  return BuiltWithout();
}

absl::StatusOr<double> CopyBytesPerSecond() { return BuiltWithout(); }

}  // namespace feedrate
