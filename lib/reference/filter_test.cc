#include "lib/reference/filter.h"

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Pixels Grey(int height, int width, std::vector<double> values) {
  Pixels image(height, width, 1);
  image.values = std::move(values);
  return image;
}

// One bright pixel in the middle of 5x5.
Pixels Impulse(double value) {
  Pixels image(5, 5, 1);
  image.at(2, 2, 0) = value;
  return image;
}

TEST(FilterTest, BeyondTheBorder) {
  std::vector<int> reflect;
  std::vector<int> replicate;
  for (int at = -3; at < 7; ++at) {
    reflect.push_back(InsideIndex(at, 4, Border::kReflect));
    replicate.push_back(InsideIndex(at, 4, Border::kReplicate));
  }
  EXPECT_THAT(reflect, ElementsAre(3, 2, 1, 0, 1, 2, 3, 2, 1, 0));
  EXPECT_THAT(replicate, ElementsAre(0, 0, 0, 0, 1, 2, 3, 3, 3, 3));
  // So small that the reflection is reflected.
  EXPECT_EQ(InsideIndex(-3, 2, Border::kReflect), 1);
  EXPECT_EQ(InsideIndex(2, 1, Border::kReflect), 0);
}

TEST(FilterTest, GaussianWeights) {
  const Kernel kernel = GaussianKernel(3, 1);
  // 1, exp(-1/2), exp(-1) around the centre, over their sum.
  const double sum = 1 + 4 * std::exp(-0.5) + 4 * std::exp(-1.0);
  EXPECT_NEAR(kernel.weights[4], 1 / sum, 1e-15);
  EXPECT_NEAR(kernel.weights[1], std::exp(-0.5) / sum, 1e-15);
  EXPECT_NEAR(kernel.weights[8], std::exp(-1.0) / sum, 1e-15);
  EXPECT_NEAR(std::accumulate(kernel.weights.begin(), kernel.weights.end(), 0.),
              1, 1e-15);
}

TEST(FilterTest, TheKernelIsNotTurnedRound) {
  const Kernel kernel{1, 3, {1, 0, 0}};
  EXPECT_THAT(
      Filter(Grey(1, 3, {10, 20, 30}), kernel, Border::kReplicate).values,
      ElementsAre(10, 10, 20));
}

TEST(FilterTest, BordersReflectOrRepeat) {
  const Kernel kernel{1, 3, {0.5, 0, 0.5}};
  const Pixels row = Grey(1, 3, {10, 20, 60});
  EXPECT_THAT(Filter(row, kernel, Border::kReflect).values,
              ElementsAre(20, 35, 20));
  EXPECT_THAT(Filter(row, kernel, Border::kReplicate).values,
              ElementsAre(15, 35, 40));
}

TEST(FilterTest, SumsSaturate) {
  const Kernel kernel{1, 1, {-1}};
  EXPECT_THAT(Filter(Grey(1, 2, {1, 255}), kernel, Border::kReflect).values,
              Each(0));
}

TEST(FilterTest, ABoxSpreadsAnImpulseEvenly) {
  const Pixels result = Filter(Impulse(250), BoxKernel(5, 5), Border::kReflect);
  EXPECT_NEAR(result.at(2, 2, 0), 10, 1e-9);
  EXPECT_NEAR(result.at(1, 3, 0), 10, 1e-9);
}

TEST(FilterTest, MedianOfRepeatedBorders) {
  // Row 1 9 5: beyond are 1 and 5.
  EXPECT_THAT(Median(Grey(1, 3, {1, 9, 5}), 3, Border::kReplicate).values,
              ElementsAre(1, 5, 5));
  EXPECT_THAT(Median(Impulse(255), 3, Border::kReplicate).values, Each(0));
}

TEST(FilterTest, SharpenKeepsTheOutermost) {
  // Smoothed centre 5/13 of 130 = 50, neighbours 10.
  const Pixels result = Sharpen(Impulse(130), 0.5);
  EXPECT_NEAR(result.at(2, 2, 0), 90, 1e-9);
  EXPECT_NEAR(result.at(1, 1, 0), 5, 1e-9);
  EXPECT_EQ(result.at(0, 0, 0), 0);
  EXPECT_NEAR(Sharpen(Impulse(130), 1).at(2, 2, 0), 130, 1e-9);
  EXPECT_NEAR(Sharpen(Impulse(130), 2).at(2, 2, 0), 210, 1e-9);
  Pixels corner(3, 3, 1);
  corner.at(0, 0, 0) = 200;
  EXPECT_EQ(Sharpen(corner, 0).at(0, 0, 0), 200);
}

TEST(FilterTest, UnsharpMaskOnlyAboveTheThreshold) {
  const double centre = GaussianKernel(3, 1).weights[4];
  const double edge = GaussianKernel(3, 1).weights[1];
  const double difference = 100 * (1 - centre);
  const Pixels sharper = UnsharpMask(Impulse(100), 3, 1, 0.5, 10);
  EXPECT_NEAR(sharper.at(2, 2, 0), 100 + 0.5 * difference, 1e-9);
  // The neighbour differs by more than 10 and cannot go below 0.
  ASSERT_GT(100 * edge, 10);
  EXPECT_EQ(sharper.at(1, 2, 0), 0);
  EXPECT_THAT(UnsharpMask(Impulse(100), 3, 1, 0.5, 90).values,
              Pointwise(DoubleNear(0), Impulse(100).values));
}

}  // namespace
}  // namespace feedrate
