// The smallest use of a GPU, to try third_party/cuda with.
#pragma once

#include <string>
#include <vector>

namespace feedrate {

// Doubles each value on the first GPU. Returns an empty string, or what CUDA
// said was wrong; `values` is then unchanged.
std::string DoubleOnGpu(std::vector<float>* values);

}  // namespace feedrate
