#include "lib/loader/cuda/gpu_loader_options.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

// So that some read files while the engines work for the others.
constexpr int kHardwareThreads = 4;
constexpr int kGpuThreads = 2;

}  // namespace

absl::StatusOr<GpuLoaderOptions> GpuLoaderOptionsOf(const LoaderSpec& spec) {
  GpuLoaderOptions options;
  options.workers = std::max(0, spec.workers);
  // Without a word for it, what is there is used.
  std::string nvjpeg = "auto";
  for (const auto& [name, value] : spec.settings) {
    if (name != "nvjpeg") {
      return absl::InvalidArgumentError(
          absl::StrCat("cuda knows no setting ", name, "; there is nvjpeg"));
    }
    nvjpeg = value;
  }
  options.nvjpeg_optional = spec.settings.count("nvjpeg") == 0;
  if (nvjpeg == "off") return options;
  // Its kernels decode no faster than two cores, and wait for them.
  if (nvjpeg == "auto") nvjpeg = "hardware";
  const bool both = nvjpeg == "both";
  if (!both && nvjpeg != "hardware" && nvjpeg != "gpu") {
    return absl::InvalidArgumentError(
        absl::StrCat("nvjpeg=", nvjpeg,
                     " is not possible; use auto, hardware, gpu, both or off"));
  }
  if (both || nvjpeg == "hardware") {
    options.hardware_threads = kHardwareThreads;
  }
  if (both || nvjpeg == "gpu") options.gpu_threads = kGpuThreads;
  return options;
}

}  // namespace feedrate
