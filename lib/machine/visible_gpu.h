// Which GPU a program of CUDA uses.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace feedrate {

// Returns the number of the GPU that CUDA programs count first, by the values
// of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER. Returns nullopt if that is no
// GPU, or is named other than by number. Of unlike GPUs CUDA counts the fastest
// first, NVML by bus: then nullopt as well, and `warn` hears of it, unless CUDA
// is told to count by bus, too.
std::optional<unsigned> FirstVisibleGpu(
    const std::vector<std::string>& libraries,
    const std::function<void(const std::string&)>& warn = nullptr);

}  // namespace feedrate
