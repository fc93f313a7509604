// The NVIDIA management library, loaded at run time.
#ifndef FEEDRATE_LIB_MACHINE_NVML_H_
#define FEEDRATE_LIB_MACHINE_NVML_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/machine/nvml_abi.h"

namespace feedrate {

// The loaded and initialised library. Thread-safe as NVML itself is.
class Nvml {
 public:
  // Loads `library`, a file name or path. NotFound when there is no such
  // library; FailedPrecondition when it is there but lacks a function or does
  // not start, for instance because its version is not the kernel driver's.
  static absl::StatusOr<std::unique_ptr<Nvml>> Load(const std::string& library);

  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // What the library says of an error code.
  std::string ErrorText(NvmlReturn code) const;

  // Never null.
  NvmlSystemGetDriverVersionFn system_get_driver_version = nullptr;
  NvmlSystemGetCudaDriverVersionFn system_get_cuda_driver_version = nullptr;
  NvmlDeviceGetCountFn device_get_count = nullptr;
  NvmlDeviceGetHandleByIndexFn device_get_handle_by_index = nullptr;
  NvmlDeviceGetNameFn device_get_name = nullptr;
  NvmlDeviceGetMemoryInfoFn device_get_memory_info = nullptr;
  NvmlDeviceGetCudaComputeCapabilityFn device_get_cuda_compute_capability =
      nullptr;
  // Null in libraries before 2014.
  NvmlDeviceGetEnforcedPowerLimitFn device_get_enforced_power_limit = nullptr;
  // May be null as well.
  NvmlDeviceGetHandleByPciBusIdFn device_get_handle_by_pci_bus_id = nullptr;
  NvmlDeviceGetClockInfoFn device_get_clock_info = nullptr;
  NvmlDeviceGetClockInfoFn device_get_max_clock_info = nullptr;
  NvmlDeviceGetThrottleReasonsFn device_get_throttle_reasons = nullptr;
  NvmlDeviceGetUtilizationRatesFn device_get_utilization_rates = nullptr;
  NvmlDeviceGetEngineUtilizationFn device_get_decoder_utilization = nullptr;
  // Since CUDA 12.
  NvmlDeviceGetEngineUtilizationFn device_get_jpg_utilization = nullptr;

 private:
  explicit Nvml(void* handle) : handle_(handle) {}

  // Looks up every function; Init must follow before any is called.
  absl::Status Resolve();
  absl::Status Init();

  void* const handle_;
  bool initialised_ = false;
  NvmlInitFn init_ = nullptr;
  NvmlShutdownFn shutdown_ = nullptr;
  NvmlErrorStringFn error_string_ = nullptr;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_NVML_H_
