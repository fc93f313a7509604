#include "lib/machine/visible_gpu.h"

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/machine/gpu.h"

namespace feedrate {

std::optional<unsigned> FirstVisibleGpu(
    const std::vector<std::string>& libraries,
    const std::function<void(const std::string&)>& warn) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  unsigned index = 0;
  if (visible != nullptr) {
    const absl::string_view all = visible;
    if (!absl::SimpleAtoi(all.substr(0, all.find(',')), &index)) {
      return std::nullopt;
    }
  }
  const char* const order = std::getenv("CUDA_DEVICE_ORDER");
  if (order != nullptr && absl::string_view(order) == "PCI_BUS_ID") {
    return index;
  }
  const std::vector<GpuInfo> gpus = ReadGpus(libraries).gpus;
  for (const GpuInfo& gpu : gpus) {
    if (gpu.name == gpus[0].name) continue;
    if (warn) {
      warn(absl::StrCat(
          "the GPUs of this machine differ (", gpus[0].name, ", ", gpu.name,
          "), and CUDA counts the fastest first: energy, clocks and use of the "
          "GPU are not read; set CUDA_DEVICE_ORDER=PCI_BUS_ID"));
    }
    return std::nullopt;
  }
  return index;
}

}  // namespace feedrate
