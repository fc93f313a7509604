// Recipes of the transform sets, and the batches that the loader on the CPU
// makes by them, for tests of what a GPU makes.
#ifndef FEEDRATE_LIB_LOADER_CUDA_TESTING_RECIPE_BATCHES_H_
#define FEEDRATE_LIB_LOADER_CUDA_TESTING_RECIPE_BATCHES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/adapters/worker/adapter.h"

namespace feedrate {

inline constexpr int kTestFiles = 11;
// The last batch is of three, so that its middle is mixed with nothing.
inline constexpr int kTestBatch = 8;
inline constexpr uint64_t kTestSeed = 5;

using TestBatches = std::vector<std::vector<float>>;

// The entry of configs/transforms/ (profile `paper`) of the first of
// `libraries` that has one, as a loader job that reads files to batches of
// kTestBatch.
TransformSpec RecipeSpec(const std::string& transform,
                         const std::vector<std::string>& libraries, int crop);

// One epoch over the first kTestFiles of `folder` with kTestSeed.
TestBatches CpuBatches(const TransformSpec& spec, const std::string& folder);

// Differences in steps of a byte.
struct Levels {
  double greatest = 0;
  double mean = 0;
};
// Greatest is infinite where the batches are not of one size.
Levels DifferenceOf(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_CUDA_TESTING_RECIPE_BATCHES_H_
