// The kernels' computations, pixel by pixel on the host, with the same
// arithmetic: for comparison with the reference where there is no GPU, and with
// the kernels where there is one.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/ops/cuda/kernels/batch.h"
#include "lib/ops/cuda/kernels/color_math.h"
#include "lib/ops/cuda/kernels/warp_math.h"

namespace feedrate::fused {

// Values 0..255 as floats, interleaved channels.
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

// Rounds each value to the nearest byte.
HostImage Rounded(HostImage image);

HostImage HostJitter(const HostImage& image, const Jitter& jitter);
HostImage HostWarp(const HostImage& image, const Projection& projection,
                   Edge edge, int height, int width);
HostImage HostBlur(const HostImage& image, float sigma, int radius);
HostImage HostTone(const HostImage& image, Tone tone, float amount);
HostImage HostEqualize(const HostImage& image);

// Calls function(y, x, c) for each value of an image of that size.
template <typename Function>
HostImage MakeImage(int height, int width, Function function) {
  HostImage result(height, width);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) result.at(y, x, c) = function(y, x, c);
    }
  }
  return result;
}

// Recipes.

// Window, flip and third, as bytes.
HostImage HostWindow(const HostImage& image, const Recipe& recipe,
                     Sampling sampling, int height, int width);

// The elements of the batch, in the order of its output.
std::vector<float> HostRecipe(const std::vector<HostImage>& images,
                              const std::vector<Recipe>& recipes,
                              const RecipeBatch& batch);

}  // namespace feedrate::fused
