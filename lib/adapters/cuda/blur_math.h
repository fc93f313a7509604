// Weights of a Gaussian.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_MATH_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_MATH_H_

#include <cmath>

#include "lib/adapters/cuda/host_device.h"

namespace feedrate::fused {

// The widest that kernels know: 13 pixels.
constexpr int kMaxBlurRadius = 6;

// Half of the samples of a Gaussian, weights[0] in the middle; with the other
// half the sum is 1. REQUIRES: 0 <= radius <= kMaxBlurRadius, sigma > 0.
FEEDRATE_HD void GaussianWeights(float sigma, int radius, float* weights) {
  const float scale = -0.5f / (sigma * sigma);
  float sum = 1;
  weights[0] = 1;
  for (int i = 1; i <= radius; ++i) {
    weights[i] = expf(scale * static_cast<float>(i * i));
    sum += 2 * weights[i];
  }
  for (int i = 0; i <= radius; ++i) weights[i] /= sum;
}

// Where a Gaussian may be cut off: three sigma.
FEEDRATE_HD int RadiusOf(float sigma) {
  const int radius = static_cast<int>(ceilf(3 * sigma));
  return radius < kMaxBlurRadius ? radius : kMaxBlurRadius;
}

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_BLUR_MATH_H_
