// Recipes of the transform sets, and the batches that the CPU loader makes from
// them, for tests of GPU loaders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/loader/options.h"

namespace feedrate {

inline constexpr int kTestFiles = 11;
// The last batch has three samples, so its middle one is not mixed.
inline constexpr int kTestBatch = 8;
inline constexpr uint64_t kTestSeed = 5;

using TestBatches = std::vector<std::vector<float>>;

// The recipe of the entry of configs/transforms/ (profile `paper`) of the first
// of `libraries` that has one, in batches of kTestBatch.
LoaderOptions TestOptions(const std::string& transform,
                          const std::vector<std::string>& libraries, int crop);

// One epoch over the first kTestFiles files of `folder` with kTestSeed.
TestBatches CpuBatches(const LoaderOptions& options, const std::string& folder);

// Differences in levels (steps of a byte).
struct Levels {
  double greatest = 0;
  double mean = 0;
};
// The greatest difference is infinite if the batches differ in size.
Levels DifferenceOf(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace feedrate
