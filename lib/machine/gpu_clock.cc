#include "lib/machine/gpu_clock.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/machine/nvml.h"
#include "lib/machine/nvml_abi.h"

namespace feedrate {
namespace {

constexpr int kProcessorClock = 1;

struct Bit {
  uint64_t bit;
  const char* word;
};
// Bits 0 (idle), 1 (clocks that were asked for) and 4 (in step with another
// GPU) hold nobody back.
constexpr Bit kBits[] = {
    {0x4, "sw_power_cap"}, {0x8, "hw_slowdown"},     {0x20, "sw_thermal"},
    {0x40, "hw_thermal"},  {0x80, "hw_power_brake"}, {0x100, "display_clocks"},
};

absl::StatusOr<NvmlDevice> FindDevice(const Nvml& nvml,
                                      const std::string& pci_bus_id) {
  NvmlDevice device = nullptr;
  const bool by_bus =
      !pci_bus_id.empty() && nvml.device_get_handle_by_pci_bus_id != nullptr;
  const NvmlReturn code =
      by_bus ? nvml.device_get_handle_by_pci_bus_id(pci_bus_id.c_str(), &device)
             : nvml.device_get_handle_by_index(0, &device);
  if (code == 0) return device;
  return absl::NotFoundError(
      absl::StrCat("NVIDIA's management library finds no GPU ", pci_bus_id,
                   ": ", nvml.ErrorText(code)));
}

}  // namespace

GpuClock::GpuClock(std::unique_ptr<Nvml> nvml, NvmlDevice device)
    : nvml_(std::move(nvml)), device_(device) {
  unsigned mhz = 0;
  if (nvml_->device_get_max_clock_info != nullptr &&
      nvml_->device_get_max_clock_info(device_, kProcessorClock, &mhz) == 0) {
    max_mhz_ = mhz;
  }
}

absl::StatusOr<std::unique_ptr<GpuClock>> GpuClock::Open(
    const std::vector<std::string>& libraries, const std::string& pci_bus_id) {
  absl::Status status =
      absl::NotFoundError("NVIDIA's management library is not here");
  for (const std::string& library : libraries) {
    absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Load(library);
    if (absl::IsNotFound(nvml.status())) continue;
    RETURN_IF_ERROR(nvml.status());
    ASSIGN_OR_RETURN(const NvmlDevice device, FindDevice(**nvml, pci_bus_id));
    return absl::WrapUnique(new GpuClock(std::move(*nvml), device));
  }
  return status;
}

std::optional<GpuClock::Reading> GpuClock::Read() const {
  Reading reading;
  unsigned mhz = 0;
  if (nvml_->device_get_clock_info == nullptr ||
      nvml_->device_get_clock_info(device_, kProcessorClock, &mhz) != 0) {
    return std::nullopt;
  }
  reading.mhz = mhz;
  unsigned long long reasons = 0;
  if (nvml_->device_get_throttle_reasons != nullptr &&
      nvml_->device_get_throttle_reasons(device_, &reasons) == 0) {
    reading.throttle_reasons = reasons;
  }
  return reading;
}

std::vector<std::string> ThrottleWords(uint64_t reasons) {
  std::vector<std::string> words;
  for (const Bit& bit : kBits) {
    if ((reasons & bit.bit) != 0) words.push_back(bit.word);
  }
  return words;
}

}  // namespace feedrate
