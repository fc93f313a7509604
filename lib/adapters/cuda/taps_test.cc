#include "lib/adapters/cuda/taps.h"

#include <gtest/gtest.h>

#include <vector>

namespace feedrate::fused {
namespace {

// Weights as Pillow's precompute_coeffs has them, in doubles.
std::vector<double> PillowWeights(int i, int from, int to, int* first) {
  const double scale = static_cast<double>(from) / to;
  const double filter = scale < 1 ? 1 : scale;
  const double centre = (i + 0.5) * scale;
  *first = static_cast<int>(centre - filter + 0.5);
  if (*first < 0) *first = 0;
  int last = static_cast<int>(centre + filter + 0.5);
  if (last > from) last = from;
  std::vector<double> weights;
  double sum = 0;
  for (int x = *first; x < last; ++x) {
    const double at = (x - centre + 0.5) / filter;
    const double weight = at < 0 ? 1 + at : 1 - at;
    weights.push_back(weight > 0 ? weight : 0);
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void ExpectPillow(int from, int to) {
  const float step = static_cast<float>(from) / static_cast<float>(to);
  for (int i = 0; i < to; ++i) {
    int first = 0;
    const std::vector<double> expected = PillowWeights(i, from, to, &first);
    const Taps taps = AntialiasTaps(i, step, from);
    const float sum = TapSum(taps);
    // Rounding may add or leave out a pixel whose weight is nothing.
    for (int x = 0; x < from; ++x) {
      const int k = x - first;
      const double weight =
          k >= 0 && k < static_cast<int>(expected.size()) ? expected[k] : 0;
      const int own = x - taps.first;
      const double ours =
          own >= 0 && own < taps.count ? TapWeight(taps, own) / sum : 0;
      // Floats near 500 are 3e-5 apart.
      ASSERT_NEAR(ours, weight, 1e-4) << from << " to " << to << ", " << i;
    }
  }
}

TEST(TapsTest, WeighAsPillowDoes) {
  ExpectPillow(500, 224);
  ExpectPillow(375, 224);
  ExpectPillow(100, 224);
  ExpectPillow(224, 224);
  ExpectPillow(4000, 7);
  ExpectPillow(1, 5);
}

TEST(TapsTest, StayInsideTheLine) {
  for (int size = 1; size < 70; ++size) {
    for (int to = 1; to < 40; ++to) {
      const float step = static_cast<float>(size) / static_cast<float>(to);
      for (int i = 0; i < to; ++i) {
        const Taps taps = AntialiasTaps(i, step, size);
        ASSERT_GE(taps.first, 0);
        ASSERT_GE(taps.count, 1);
        ASSERT_LE(taps.first + taps.count, size);
        ASSERT_GT(TapSum(taps), 0);
      }
    }
  }
}

TEST(TapsTest, EdgesOfBothLinesMeet) {
  EXPECT_FLOAT_EQ(ResizedFrom(0, 2), 0.5f);
  EXPECT_FLOAT_EQ(ResizedFrom(0, 0.5f), -0.25f);
  EXPECT_FLOAT_EQ(ResizedFrom(3, 1), 3);
}

}  // namespace
}  // namespace feedrate::fused
