// What the kernels compute, pixel by pixel on the host.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_HOST_OPS_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_HOST_OPS_H_

#include <cstdint>
#include <vector>

#include "lib/adapters/cuda/colour_math.h"
#include "lib/adapters/cuda/recipe.h"
#include "lib/adapters/cuda/tone_math.h"
#include "lib/adapters/cuda/warp_math.h"

namespace feedrate::fused {

// Values 0..255 as floats, channels of a pixel side by side.
struct HostImage {
  int height = 0;
  int width = 0;
  std::vector<float> values;

  HostImage() = default;
  HostImage(int h, int w) : height(h), width(w), values(3u * h * w, 0.0f) {}

  float& at(int y, int x, int c) { return values[(y * width + x) * 3 + c]; }
  float at(int y, int x, int c) const {
    return values[(y * width + x) * 3 + c];
  }
};

// Each value to the nearest byte.
HostImage Rounded(HostImage image);

HostImage HostJitter(const HostImage& image, const Jitter& jitter);
HostImage HostWarp(const HostImage& image, const Projection& projection,
                   Edge edge, int height, int width);
HostImage HostBlur(const HostImage& image, float sigma, int radius);
HostImage HostTone(const HostImage& image, Tone tone, float amount);
HostImage HostEqualize(const HostImage& image);

// Window, flip and third: bytes.
HostImage HostWindow(const HostImage& image, const Recipe& recipe,
                     Sampling sampling, int height, int width);

// The batch's floats, count x 3 x height x width.
std::vector<float> HostRecipe(const std::vector<HostImage>& images,
                              const std::vector<Recipe>& recipes,
                              const RecipeBatch& batch);

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BENCH_HOST_OPS_H_
