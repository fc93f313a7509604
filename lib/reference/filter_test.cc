#include "lib/reference/filter.h"

#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/color.h"
#include "lib/reference/testing.h"

namespace feedrate {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

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
  // 1, exp(-1/2), exp(-1) around the center, over their sum.
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
      Filter(Gray(1, 3, {10, 20, 30}), kernel, Border::kReplicate).values,
      ElementsAre(10, 10, 20));
}

TEST(FilterTest, BordersReflectOrRepeat) {
  const Kernel kernel{1, 3, {0.5, 0, 0.5}};
  const Pixels row = Gray(1, 3, {10, 20, 60});
  EXPECT_THAT(Filter(row, kernel, Border::kReflect).values,
              ElementsAre(20, 35, 20));
  EXPECT_THAT(Filter(row, kernel, Border::kReplicate).values,
              ElementsAre(15, 35, 40));
}

TEST(FilterTest, SumsSaturate) {
  const Kernel kernel{1, 1, {-1}};
  EXPECT_THAT(Filter(Gray(1, 2, {1, 255}), kernel, Border::kReflect).values,
              Each(0));
}

TEST(FilterTest, ABoxSpreadsAnImpulseEvenly) {
  const Pixels result = Filter(Impulse(250), BoxKernel(5, 5), Border::kReflect);
  EXPECT_NEAR(result.at(2, 2, 0), 10, 1e-9);
  EXPECT_NEAR(result.at(1, 3, 0), 10, 1e-9);
}

TEST(FilterTest, MedianOfRepeatedBorders) {
  // Row 1 9 5: beyond are 1 and 5.
  EXPECT_THAT(Median(Gray(1, 3, {1, 9, 5}), 3, Border::kReplicate).values,
              ElementsAre(1, 5, 5));
  EXPECT_THAT(Median(Impulse(255), 3, Border::kReplicate).values, Each(0));
}

TEST(FilterTest, SharpenKeepsTheOutermost) {
  // Smoothed center 5/13 of 130 = 50, neighbors 10.
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
  const double center = GaussianKernel(3, 1).weights[4];
  const double edge = GaussianKernel(3, 1).weights[1];
  const double difference = 100 * (1 - center);
  const Pixels sharper = UnsharpMask(Impulse(100), 3, 1, 0.5, 10);
  EXPECT_NEAR(sharper.at(2, 2, 0), 100 + 0.5 * difference, 1e-9);
  // The neighbor differs by more than 10 and cannot go below 0.
  ASSERT_GT(100 * edge, 10);
  EXPECT_EQ(sharper.at(1, 2, 0), 0);
  EXPECT_THAT(UnsharpMask(Impulse(100), 3, 1, 0.5, 90).values,
              Pointwise(DoubleNear(0), Impulse(100).values));
}

// Grays in two halves.
Pixels Halves(int height, int width, double left, double right) {
  Pixels image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.at(y, x, c) = x < width / 2 ? left : right;
      }
    }
  }
  return image;
}

double LightnessAt(const Pixels& image, int y, int x) {
  return RgbToLab(image).at(y, x, 0) * 2.55;
}

TEST(ClaheTest, OneTileWithoutALimitIsPlainEqualization) {
  // Half of the pixels up to the darker gray: it becomes 127.5, which is 128 to
  // even, the brighter one 255.
  const Pixels result = EqualizeTiles(Halves(8, 8, 100, 110), 1000, 1);
  EXPECT_NEAR(LightnessAt(result, 0, 0), 128, 0.01);
  EXPECT_NEAR(LightnessAt(result, 0, 7), 255, 0.01);
}

TEST(ClaheTest, TheLimitSharesCountsOut) {
  // 64 pixels in one bin of one tile, limit 1 per bin: 63 are distributed over
  // the bins 0, 4, 8, ...; lightness 128 has passed 33 of them and its own one.
  Pixels lab(8, 8, 3);
  for (size_t i = 0; i < lab.values.size(); i += 3) {
    lab.values[i] = 128 / 2.55;
  }
  const Pixels result = EqualizeTiles(LabToRgb(lab), 1, 1);
  EXPECT_NEAR(LightnessAt(result, 3, 3), AsByte(255.0 * 34 / 64), 0.01);
}

TEST(ClaheTest, TilesDifferAndBlend) {
  // Dark left, bright right; each tile equalizes what it has, so in the middle
  // of the tiles both sides reach the top, and between them they are mixed.
  const Pixels result = EqualizeTiles(Halves(8, 16, 60, 200), 1000, 2);
  EXPECT_NEAR(LightnessAt(result, 4, 0), 255, 0.01);
  EXPECT_NEAR(LightnessAt(result, 4, 15), 255, 0.01);
}

TEST(ClaheTest, ColorStays) {
  Pixels image(16, 16, 3);
  for (int i = 0; i < 256; ++i) {
    image.values[3 * i] = 90 + i % 16;
    image.values[3 * i + 1] = 80 + i % 16;
    image.values[3 * i + 2] = 70 + i % 16;
  }
  const Pixels before = RgbToLab(image);
  const Pixels after = RgbToLab(EqualizeTiles(image, 1.5, 2));
  for (int i = 0; i < 256; ++i) {
    EXPECT_NEAR(after.values[3 * i + 1], before.values[3 * i + 1], 0.5);
  }
}

TEST(ClaheTest, SizesThatTilesDoNotFit) {
  const Pixels result = EqualizeTiles(Halves(13, 21, 60, 200), 2, 8);
  EXPECT_EQ(result.height, 13);
  EXPECT_EQ(result.width, 21);
}

Pixels Flat(int height, int width, double value) {
  return MapValues(Pixels(height, width, 3), [=](double) { return value; });
}

// Grays only, so that chroma takes no part.
Pixels Ramp(int size) {
  Pixels image(size, size, 3);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      for (int c = 0; c < 3; ++c) image.at(y, x, c) = 255.0 * x / (size - 1);
    }
  }
  return image;
}

TEST(JpegTest, FlatGrayMovesToTheNearestStep) {
  // At quality 50 the first coefficient is 8 * (value - 128) in steps of 16:
  // 129 is half a step above, rounded away from zero; 130 is a whole step.
  EXPECT_THAT(JpegRoundTrip(Flat(16, 16, 128), 50).values,
              Each(DoubleNear(128, 1e-9)));
  EXPECT_THAT(JpegRoundTrip(Flat(16, 16, 129), 50).values,
              Each(DoubleNear(130, 1e-9)));
  EXPECT_THAT(JpegRoundTrip(Flat(16, 16, 130), 50).values,
              Each(DoubleNear(130, 1e-9)));
  // At quality 25 the step is 32: 131 is 24/32, one step, so 132.
  EXPECT_THAT(JpegRoundTrip(Flat(16, 16, 131), 25).values,
              Each(DoubleNear(132, 1e-9)));
}

TEST(JpegTest, QualityHundredLosesLittle) {
  const Pixels ramp = Ramp(16);
  const Pixels result = JpegRoundTrip(ramp, 100);
  for (size_t i = 0; i < ramp.values.size(); ++i) {
    EXPECT_NEAR(result.values[i], ramp.values[i], 2.5);
  }
}

TEST(JpegTest, LowQualityLosesMore) {
  const auto error = [](int quality) {
    const Pixels result = JpegRoundTrip(Ramp(24), quality);
    double sum = 0;
    for (size_t i = 0; i < result.values.size(); ++i) {
      sum += std::abs(result.values[i] - Ramp(24).values[i]);
    }
    return sum;
  };
  EXPECT_GT(error(10), error(50));
  EXPECT_GT(error(50), error(95));
}

TEST(JpegTest, FineColorIsLostAndItsMeanStays) {
  // Columns of red and blue: chroma of two columns is averaged, so all columns
  // get the same hue and only their luma differs.
  Pixels image(16, 16, 3);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 16; ++x) image.at(y, x, x % 2 == 0 ? 0 : 2) = 200;
  }
  const Pixels result = JpegRoundTrip(image, 95);
  EXPECT_NEAR(result.at(8, 8, 0) - result.at(8, 8, 2),
              result.at(8, 9, 0) - result.at(8, 9, 2), 12);
}

TEST(JpegTest, SizesNeedNotBeMultiplesOfAnything) {
  const Pixels result = JpegRoundTrip(Flat(9, 17, 130), 50);
  EXPECT_EQ(result.height, 9);
  EXPECT_EQ(result.width, 17);
  EXPECT_THAT(result.values, Each(DoubleNear(130, 1e-9)));
}

}  // namespace
}  // namespace feedrate
