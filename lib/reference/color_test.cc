#include "lib/reference/color.h"

#include <cmath>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/testing.h"

namespace feedrate {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Pixels Colors(std::vector<double> values, int channels = 3) {
  Pixels image(1, static_cast<int>(values.size()) / channels, channels);
  image.values = std::move(values);
  return image;
}

TEST(ColorTest, LumaWeights) {
  EXPECT_THAT(Grayscale(Colors({100, 0, 0, 0, 100, 0, 0, 0, 100})).values,
              Near({29.9, 29.9, 29.9, 58.7, 58.7, 58.7, 11.4, 11.4, 11.4}));
}

TEST(ColorTest, NineChannelsAreThreeImages) {
  const Pixels image = Colors({100, 0, 0, 0, 100, 0, 0, 0, 100}, 9);
  EXPECT_THAT(Grayscale(image).values,
              Near({29.9, 29.9, 29.9, 58.7, 58.7, 58.7, 11.4, 11.4, 11.4}));
  // Each image has its own mean.
  EXPECT_THAT(AdjustContrast(image, 0).values, Near(Grayscale(image).values));
}

TEST(ColorTest, ContrastLeavesTheMean) {
  // Grays of 50 and 150 have the mean 100.
  EXPECT_THAT(AdjustContrast(Colors({50, 50, 50, 150, 150, 150}), 1.5).values,
              Near({25, 25, 25, 175, 175, 175}));
  EXPECT_THAT(AdjustContrast(Colors({0, 0, 0, 200, 200, 200}), 2).values,
              Near({0, 0, 0, 255, 255, 255}));
}

TEST(ColorTest, SaturationLeavesGrayAlone) {
  EXPECT_THAT(AdjustSaturation(Colors({70, 70, 70}), 3).values,
              Near({70, 70, 70}));
  // Luma 29.9: 29.9 + 0.5 * (100 - 29.9), 29.9 - 0.5 * 29.9.
  EXPECT_THAT(AdjustSaturation(Colors({100, 0, 0}), 0.5).values,
              Near({64.95, 14.95, 14.95}));
}

TEST(ColorTest, AThirdOfATurnMovesTheChannels) {
  EXPECT_THAT(ShiftHue(Colors({200, 50, 80}), 1.0 / 3).values,
              Near({80, 200, 50}));
  EXPECT_THAT(ShiftHue(Colors({200, 50, 80}), -1.0 / 3).values,
              Near({50, 80, 200}));
}

TEST(ColorTest, ASixthOfATurnFromRedIsYellow) {
  EXPECT_THAT(ShiftHue(Colors({255, 0, 0}), 1.0 / 6).values,
              Near({255, 255, 0}));
  // A twelfth is half of the way.
  EXPECT_THAT(ShiftHue(Colors({255, 0, 0}), 1.0 / 12).values,
              Near({255, 127.5, 0}));
}

TEST(ColorTest, GrayHasNoHue) {
  EXPECT_THAT(ShiftHue(Colors({9, 9, 9}), 0.3).values, Near({9, 9, 9}));
}

TEST(ColorTest, OneTurnIsNone) {
  EXPECT_THAT(ShiftHue(Colors({10, 250, 33, 90, 20, 91}), 1).values,
              Near({10, 250, 33, 90, 20, 91}));
}

TEST(ColorTest, DarkPixelsBleach) {
  // Lightness 50 of 255 becomes 100; gray stays gray.
  EXPECT_THAT(BleachDark(Colors({50, 50, 50}), 0.5, 2).values,
              Near({100, 100, 100}));
  // Lightness 200 is not below 127.5.
  EXPECT_THAT(BleachDark(Colors({150, 200, 250}), 0.5, 2).values,
              Near({150, 200, 250}));
  // Lightness 60 becomes 120; saturation (80-40)/120 = 1/3 spans 80..160.
  EXPECT_THAT(BleachDark(Colors({80, 60, 40}), 0.5, 2).values,
              Near({160, 120, 80}));
  // Lightness beyond 1 is white.
  EXPECT_THAT(BleachDark(Colors({120, 100, 120}), 0.5, 3).values,
              Near({255, 255, 255}));
}

Pixels Row(std::vector<double> values, int channels = 1) {
  Pixels image(1, static_cast<int>(values.size()) / channels, channels);
  image.values = std::move(values);
  return image;
}

TEST(ToneTest, Invert) {
  EXPECT_THAT(Invert(Row({0, 100, 255})).values, ElementsAre(255, 155, 0));
}

TEST(ToneTest, PosterizeKeepsHighBits) {
  EXPECT_THAT(Posterize(Row({15, 16, 31, 255}), 4).values,
              ElementsAre(0, 16, 16, 240));
  EXPECT_THAT(Posterize(Row({127, 128, 255}), 1).values,
              ElementsAre(0, 128, 128));
  EXPECT_THAT(Posterize(Row({77}), 8).values, ElementsAre(77));
}

TEST(ToneTest, SolarizeStartsAtTheThreshold) {
  EXPECT_THAT(Solarize(Row({0, 127, 128, 255}), 128).values,
              ElementsAre(0, 127, 127, 0));
}

TEST(ToneTest, Gamma) {
  // 255 * (51/255)^2 = 255 * 0.04.
  const Pixels result = Gamma(Row({0, 51, 255}), 2);
  EXPECT_EQ(result.values[0], 0);
  EXPECT_NEAR(result.values[1], 10.2, 1e-12);
  EXPECT_EQ(result.values[2], 255);
}

TEST(ToneTest, ProductsAndSumsSaturate) {
  EXPECT_THAT(Multiply(Row({100, 250}), 1.5).values, ElementsAre(150, 255));
  EXPECT_THAT(ShiftChannels(Row({10, 20, 250}, 3), {-20, 5, 10}).values,
              ElementsAre(0, 25, 255));
  EXPECT_THAT(MultiplyChannels(Row({10, 20, 200}, 3), {2, 1, 0.5}).values,
              ElementsAre(20, 20, 100));
}

TEST(ToneTest, ChannelsInGroupsOfThree) {
  EXPECT_THAT(ShiftChannels(Row({1, 1, 1, 1, 1, 1}, 6), {1, 2, 3}).values,
              ElementsAre(2, 3, 4, 2, 3, 4));
}

TEST(ToneTest, StretchesEachChannelByItself) {
  // The first channel spans 50..150, the second holds one value.
  EXPECT_THAT(StretchContrast(Row({50, 9, 100, 9, 150, 9}, 2)).values,
              ElementsAre(0, 9, 127.5, 9, 255, 9));
}

TEST(ToneTest, EqualizesByCountedSteps) {
  // 512 pixels: 256 of 10, 254 of 20, 2 of 30. One step is 510/255 = 2 pixels.
  // Below 10: half a step, 1/2 = 0. Below 20: (1+256)/2 = 128. Below 30:
  // (1+510)/2 = 255.
  std::vector<double> values(256, 10);
  values.insert(values.end(), 254, 20);
  values.insert(values.end(), 2, 30);
  const Pixels result = EqualizeHistogram(Row(values));
  EXPECT_EQ(result.values[0], 0);
  EXPECT_EQ(result.values[300], 128);
  EXPECT_EQ(result.values[511], 255);
}

TEST(ToneTest, OneValueIsFlatAlready) {
  EXPECT_THAT(EqualizeHistogram(Row(std::vector<double>(600, 42))).values,
              Each(42));
}

Pixels Color(double r, double g, double b) {
  Pixels image(1, 1, 3);
  image.values = {r, g, b};
  return image;
}

std::vector<double> Lab(double r, double g, double b) {
  return RgbToLab(Color(r, g, b)).values;
}

TEST(LabTest, TheEndsOfLightness) {
  EXPECT_THAT(Lab(0, 0, 0),
              Pointwise(DoubleNear(1e-9), std::vector<double>{0, 0, 0}));
  EXPECT_THAT(Lab(255, 255, 255),
              Pointwise(DoubleNear(1e-2), std::vector<double>{100, 0, 0}));
}

// Published values of the corners of sRGB.
TEST(LabTest, PureColors) {
  EXPECT_THAT(
      Lab(255, 0, 0),
      Pointwise(DoubleNear(0.02), std::vector<double>{53.24, 80.09, 67.20}));
  EXPECT_THAT(
      Lab(0, 0, 255),
      Pointwise(DoubleNear(0.02), std::vector<double>{32.30, 79.19, -107.86}));
}

TEST(LabTest, ThereAndBack) {
  for (double r : {0., 3., 90., 255.}) {
    for (double g : {0., 10., 128., 255.}) {
      for (double b : {1., 60., 250.}) {
        const Pixels color = Color(r, g, b);
        EXPECT_THAT(LabToRgb(RgbToLab(color)).values,
                    Pointwise(DoubleNear(0.01), color.values));
      }
    }
  }
}

Pixels FlatGray(int height, int width, double value) {
  return MapValues(Pixels(height, width, 1), [=](double) { return value; });
}

TEST(IlluminationTest, ARampEndsAtTheSide) {
  EXPECT_THAT(LightFromSide(FlatGray(1, 3, 100), 0.2, Side::kRight).values,
              ElementsAre(100, 125.5, 151));
  EXPECT_THAT(LightFromSide(FlatGray(1, 3, 100), 0.2, Side::kLeft).values,
              ElementsAre(151, 125.5, 100));
  EXPECT_THAT(LightFromSide(FlatGray(2, 1, 100), 0.2, Side::kBottom).values,
              ElementsAre(100, 151));
  EXPECT_THAT(LightFromSide(FlatGray(2, 1, 230), 0.2, Side::kTop).values,
              ElementsAre(255, 230));
}

TEST(IlluminationTest, ACornerIsBrightest) {
  // 4x5: the corners are 5 apart. Four columns from the corner is 0.8 of it.
  const Pixels result = LightFromCorner(FlatGray(4, 5, 100), 0.2, false, true);
  EXPECT_NEAR(result.at(0, 4, 0), 120, 1e-9);
  EXPECT_NEAR(result.at(0, 0, 0), 100 * (1 + 0.2 * 0.2), 1e-9);
  EXPECT_NEAR(result.at(3, 0, 0), 100, 1e-9);
  const Pixels other = LightFromCorner(FlatGray(4, 5, 100), 0.2, true, false);
  EXPECT_NEAR(other.at(3, 0, 0), 120, 1e-9);
}

TEST(IlluminationTest, APointFadesAsAGaussian) {
  // Center (2, 1) of 2x4, spread 0.5 * 4 = 2.
  const Pixels result = LightFromPoint(FlatGray(2, 4, 100), 0.2, 0.5, 0.5, 0.5);
  EXPECT_NEAR(result.at(1, 2, 0), 120, 1e-9);
  EXPECT_NEAR(result.at(1, 0, 0), 100 * (1 + 0.2 * std::exp(-0.5)), 1e-9);
}

}  // namespace
}  // namespace feedrate
