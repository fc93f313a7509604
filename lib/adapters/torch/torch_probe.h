// A CUDA device as ATen sees it, to be timed.
#ifndef FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_PROBE_H_
#define FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_PROBE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// On the first device, by torch's own events and allocator, through interfaces
// that libtorch has without its CUDA half. FailedPrecondition where this
// program, or this machine, has no CUDA.
absl::StatusOr<std::unique_ptr<DeviceProbe>> MakeTorchProbe();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_TORCH_TORCH_PROBE_H_
