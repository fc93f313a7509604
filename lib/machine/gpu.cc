#include "lib/machine/gpu.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/machine/nvml.h"

namespace feedrate {
namespace {

constexpr unsigned kTextSize = 96;  // NVML's own bound for names and versions.

absl::Status Check(const Nvml& nvml, NvmlReturn code, absl::string_view what) {
  if (code == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("NVIDIA's management library cannot give ", what, ": ",
                   nvml.ErrorText(code), " (code ", code, ")"));
}

absl::StatusOr<GpuInfo> ReadGpu(const Nvml& nvml, unsigned index) {
  const std::string what = absl::StrCat("GPU ", index);
  NvmlDevice device;
  RETURN_IF_ERROR(
      Check(nvml, nvml.device_get_handle_by_index(index, &device), what));
  char name[kTextSize + 1] = {};
  RETURN_IF_ERROR(Check(nvml, nvml.device_get_name(device, name, kTextSize),
                        absl::StrCat("the name of ", what)));
  GpuInfo gpu;
  gpu.name = name;
  NvmlMemory memory = {};
  // Machines that share memory with the processor do not support this.
  if (nvml.device_get_memory_info(device, &memory) == 0) {
    gpu.memory_bytes = memory.total;
  }
  int major, minor;
  if (nvml.device_get_cuda_compute_capability(device, &major, &minor) == 0) {
    gpu.compute_capability = absl::StrCat(major, ".", minor);
  }
  unsigned milliwatts;
  if (nvml.device_get_enforced_power_limit != nullptr &&
      nvml.device_get_enforced_power_limit(device, &milliwatts) == 0) {
    gpu.power_limit_w = milliwatts / 1000.0;
  }
  return gpu;
}

absl::Status ReadSystem(const Nvml& nvml, GpuSystem* system) {
  char driver[kTextSize + 1] = {};
  RETURN_IF_ERROR(Check(nvml, nvml.system_get_driver_version(driver, kTextSize),
                        "the driver's version"));
  system->driver = driver;
  int cuda;
  RETURN_IF_ERROR(Check(nvml, nvml.system_get_cuda_driver_version(&cuda),
                        "the CUDA version"));
  system->cuda = absl::StrCat(cuda / 1000, ".", cuda % 1000 / 10);
  unsigned count;
  RETURN_IF_ERROR(
      Check(nvml, nvml.device_get_count(&count), "the number of GPUs"));
  for (unsigned i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(GpuInfo gpu, ReadGpu(nvml, i));
    system->gpus.push_back(std::move(gpu));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> NvmlLibraries() {
  return {"libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
          "/usr/lib/wsl/lib/libnvidia-ml.so.1"};
}

GpuSystem ReadGpus(const std::vector<std::string>& libraries) {
  GpuSystem system;
  for (const std::string& library : libraries) {
    const absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Load(library);
    if (absl::IsNotFound(nvml.status())) continue;
    const absl::Status status =
        nvml.ok() ? ReadSystem(**nvml, &system) : nvml.status();
    system.problem = std::string(status.message());
    break;
  }
  return system;
}

}  // namespace feedrate
