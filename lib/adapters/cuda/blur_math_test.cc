#include "lib/adapters/cuda/blur_math.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/reference/filter.h"

namespace feedrate::fused {
namespace {

TEST(BlurMathTest, WeightsAreTheReference) {
  for (const float sigma : {0.3f, 1.0f, 2.0f, 5.0f}) {
    for (int radius = 0; radius <= kMaxBlurRadius; ++radius) {
      float weights[kMaxBlurRadius + 1];
      GaussianWeights(sigma, radius, weights);
      const int size = 2 * radius + 1;
      const Kernel kernel = GaussianKernel(size, sigma);
      for (int y = 0; y < size; ++y) {
        for (int x = 0; x < size; ++x) {
          ASSERT_NEAR(
              weights[std::abs(y - radius)] * weights[std::abs(x - radius)],
              kernel.weights[y * size + x], 1e-6);
        }
      }
    }
  }
}

TEST(BlurMathTest, RadiusIsThreeSigmaAndBounded) {
  EXPECT_EQ(RadiusOf(0.1f), 1);
  EXPECT_EQ(RadiusOf(1.0f), 3);
  EXPECT_EQ(RadiusOf(2.0f), 6);
  EXPECT_EQ(RadiusOf(9.0f), kMaxBlurRadius);
}

}  // namespace
}  // namespace feedrate::fused
