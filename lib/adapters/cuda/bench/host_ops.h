// What a recipe computes, pixel by pixel on the host.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_HOST_OPS_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_HOST_OPS_H_

#include <vector>

#include "lib/adapters/cuda/host_kernels.h"
#include "lib/adapters/cuda/recipe_batch.h"

namespace feedrate::fused {

// Window, flip and third: bytes.
HostImage HostWindow(const HostImage& image, const Recipe& recipe,
                     Sampling sampling, int height, int width);

// The batch's floats, count x 3 x height x width.
std::vector<float> HostRecipe(const std::vector<HostImage>& images,
                              const std::vector<Recipe>& recipes,
                              const RecipeBatch& batch);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_HOST_OPS_H_
