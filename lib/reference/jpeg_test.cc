#include "lib/reference/jpeg.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;

Pixels Flat(int height, int width, double value) {
  return MapValues(Pixels(height, width, 3), [=](double) { return value; });
}

// Greys only, so that chroma takes no part.
Pixels Ramp(int size) {
  Pixels image(size, size, 3);
  for (int y = 0; y < size; ++y) {
    for (int x = 0; x < size; ++x) {
      for (int c = 0; c < 3; ++c) image.at(y, x, c) = 255.0 * x / (size - 1);
    }
  }
  return image;
}

TEST(JpegTest, FlatGreyMovesToTheNearestStep) {
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

TEST(JpegTest, FineColourIsLostAndItsMeanStays) {
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
