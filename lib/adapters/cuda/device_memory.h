// Memory of a device, counted.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_DEVICE_MEMORY_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_DEVICE_MEMORY_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

// OK, or Internal with the call and CUDA's words; ResourceExhausted when memory
// ran out.
absl::Status CudaStatus(cudaError_t error, const std::string& call);

// `1.25 GiB of 139.80 GiB free`, of the device in use.
std::string FreeMemoryText();

// What one job has on the device; freed with it. Not thread-safe.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // ResourceExhausted says how much `what` asked for and what was free. The
  // device is as before then: nothing is left of the failed call.
  absl::StatusOr<uint8_t*> Allocate(int64_t bytes, const std::string& what);

  int64_t bytes() const { return bytes_; }

 private:
  std::vector<void*> blocks_;
  int64_t bytes_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_DEVICE_MEMORY_H_
