#include "lib/machine/nvml.h"

#include <dlfcn.h>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

template <typename Fn>
absl::Status Find(void* handle, const char* name, Fn* function) {
  *function = reinterpret_cast<Fn>(dlsym(handle, name));
  if (*function != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("NVIDIA's management library has no function ", name,
                   "; install a driver of release 450 or later"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Load(const std::string& library) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    return absl::NotFoundError(
        why != nullptr ? why : absl::StrCat("cannot load ", library));
  }
  std::unique_ptr<Nvml> nvml = absl::WrapUnique(new Nvml(handle));
  RETURN_IF_ERROR(nvml->Resolve());
  RETURN_IF_ERROR(nvml->Init());
  return nvml;
}

absl::Status Nvml::Resolve() {
  RETURN_IF_ERROR(Find(handle_, "nvmlInit_v2", &init_));
  RETURN_IF_ERROR(Find(handle_, "nvmlShutdown", &shutdown_));
  RETURN_IF_ERROR(Find(handle_, "nvmlErrorString", &error_string_));
  RETURN_IF_ERROR(
      Find(handle_, "nvmlSystemGetDriverVersion", &system_get_driver_version));
  RETURN_IF_ERROR(Find(handle_, "nvmlSystemGetCudaDriverVersion_v2",
                       &system_get_cuda_driver_version));
  RETURN_IF_ERROR(Find(handle_, "nvmlDeviceGetCount_v2", &device_get_count));
  RETURN_IF_ERROR(Find(handle_, "nvmlDeviceGetHandleByIndex_v2",
                       &device_get_handle_by_index));
  RETURN_IF_ERROR(Find(handle_, "nvmlDeviceGetName", &device_get_name));
  RETURN_IF_ERROR(
      Find(handle_, "nvmlDeviceGetMemoryInfo", &device_get_memory_info));
  RETURN_IF_ERROR(Find(handle_, "nvmlDeviceGetCudaComputeCapability",
                       &device_get_cuda_compute_capability));
  Find(handle_, "nvmlDeviceGetEnforcedPowerLimit",
       &device_get_enforced_power_limit)
      .IgnoreError();
  Find(handle_, "nvmlDeviceGetHandleByPciBusId_v2",
       &device_get_handle_by_pci_bus_id)
      .IgnoreError();
  Find(handle_, "nvmlDeviceGetClockInfo", &device_get_clock_info).IgnoreError();
  Find(handle_, "nvmlDeviceGetMaxClockInfo", &device_get_max_clock_info)
      .IgnoreError();
  Find(handle_, "nvmlDeviceGetCurrentClocksThrottleReasons",
       &device_get_throttle_reasons)
      .IgnoreError();
  Find(handle_, "nvmlDeviceGetUtilizationRates", &device_get_utilization_rates)
      .IgnoreError();
  Find(handle_, "nvmlDeviceGetDecoderUtilization",
       &device_get_decoder_utilization)
      .IgnoreError();
  Find(handle_, "nvmlDeviceGetJpgUtilization", &device_get_jpg_utilization)
      .IgnoreError();
  return absl::OkStatus();
}

absl::Status Nvml::Init() {
  const NvmlReturn code = init_();
  initialised_ = code == 0;
  if (initialised_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "NVIDIA's management library does not start: ", ErrorText(code),
      " (code ", code, ")"));
}

Nvml::~Nvml() {
  if (initialised_) shutdown_();
  dlclose(handle_);
}

std::string Nvml::ErrorText(NvmlReturn code) const {
  const char* text = error_string_(code);
  return text != nullptr ? text : "unknown error";
}

}  // namespace feedrate
