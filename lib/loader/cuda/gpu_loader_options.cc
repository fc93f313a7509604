#include "lib/loader/cuda/gpu_loader_options.h"

#include <algorithm>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

// So that some read files while the engines work for the others. They wait by
// turning in circles: one more takes a core from those that decode.
constexpr int kHardwareThreads = 3;
constexpr int kGpuThreads = 2;
constexpr int kMostThreads = 64;

absl::StatusOr<int> ThreadsOf(const std::string& value) {
  int threads = 0;
  if (absl::SimpleAtoi(value, &threads) && threads >= 1 &&
      threads <= kMostThreads) {
    return threads;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "nvjpeg_threads=", value, " is not possible; use 1 to ", kMostThreads));
}

}  // namespace

absl::StatusOr<GpuLoaderOptions> GpuLoaderOptionsOf(const LoaderSpec& spec) {
  GpuLoaderOptions options;
  options.workers = std::max(0, spec.workers);
  // Without a word for it, what is there is used.
  std::string nvjpeg = "auto";
  int threads = 0;
  for (const auto& [name, value] : spec.settings) {
    if (name == "nvjpeg_threads") {
      ASSIGN_OR_RETURN(threads, ThreadsOf(value));
    } else if (name == "nvjpeg") {
      nvjpeg = value;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("cuda knows no setting ", name,
                       "; there are nvjpeg and nvjpeg_threads"));
    }
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
    options.hardware_threads = threads > 0 ? threads : kHardwareThreads;
  }
  if (both || nvjpeg == "gpu") {
    options.gpu_threads = threads > 0 ? threads : kGpuThreads;
  }
  return options;
}

}  // namespace feedrate
