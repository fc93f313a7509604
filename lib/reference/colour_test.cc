#include "lib/reference/colour.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Pixels Colours(std::vector<double> values, int channels = 3) {
  Pixels image(1, static_cast<int>(values.size()) / channels, channels);
  image.values = std::move(values);
  return image;
}

auto Near(const std::vector<double>& values) {
  return Pointwise(DoubleNear(1e-9), values);
}

TEST(ColourTest, LumaWeights) {
  EXPECT_THAT(Grayscale(Colours({100, 0, 0, 0, 100, 0, 0, 0, 100})).values,
              Near({29.9, 29.9, 29.9, 58.7, 58.7, 58.7, 11.4, 11.4, 11.4}));
}

TEST(ColourTest, NineChannelsAreThreeImages) {
  const Pixels image = Colours({100, 0, 0, 0, 100, 0, 0, 0, 100}, 9);
  EXPECT_THAT(Grayscale(image).values,
              Near({29.9, 29.9, 29.9, 58.7, 58.7, 58.7, 11.4, 11.4, 11.4}));
  // Each image has its own mean.
  EXPECT_THAT(AdjustContrast(image, 0).values, Near(Grayscale(image).values));
}

TEST(ColourTest, ContrastLeavesTheMean) {
  // Greys of 50 and 150 have the mean 100.
  EXPECT_THAT(AdjustContrast(Colours({50, 50, 50, 150, 150, 150}), 1.5).values,
              Near({25, 25, 25, 175, 175, 175}));
  EXPECT_THAT(AdjustContrast(Colours({0, 0, 0, 200, 200, 200}), 2).values,
              Near({0, 0, 0, 255, 255, 255}));
}

TEST(ColourTest, SaturationLeavesGreyAlone) {
  EXPECT_THAT(AdjustSaturation(Colours({70, 70, 70}), 3).values,
              Near({70, 70, 70}));
  // Luma 29.9: 29.9 + 0.5 * (100 - 29.9), 29.9 - 0.5 * 29.9.
  EXPECT_THAT(AdjustSaturation(Colours({100, 0, 0}), 0.5).values,
              Near({64.95, 14.95, 14.95}));
}

TEST(ColourTest, AThirdOfATurnMovesTheChannels) {
  EXPECT_THAT(ShiftHue(Colours({200, 50, 80}), 1.0 / 3).values,
              Near({80, 200, 50}));
  EXPECT_THAT(ShiftHue(Colours({200, 50, 80}), -1.0 / 3).values,
              Near({50, 80, 200}));
}

TEST(ColourTest, ASixthOfATurnFromRedIsYellow) {
  EXPECT_THAT(ShiftHue(Colours({255, 0, 0}), 1.0 / 6).values,
              Near({255, 255, 0}));
  // A twelfth is half of the way.
  EXPECT_THAT(ShiftHue(Colours({255, 0, 0}), 1.0 / 12).values,
              Near({255, 127.5, 0}));
}

TEST(ColourTest, GreyHasNoHue) {
  EXPECT_THAT(ShiftHue(Colours({9, 9, 9}), 0.3).values, Near({9, 9, 9}));
}

TEST(ColourTest, OneTurnIsNone) {
  EXPECT_THAT(ShiftHue(Colours({10, 250, 33, 90, 20, 91}), 1).values,
              Near({10, 250, 33, 90, 20, 91}));
}

TEST(ColourTest, DarkPixelsBleach) {
  // Lightness 50 of 255 becomes 100; grey stays grey.
  EXPECT_THAT(BleachDark(Colours({50, 50, 50}), 0.5, 2).values,
              Near({100, 100, 100}));
  // Lightness 200 is not below 127.5.
  EXPECT_THAT(BleachDark(Colours({150, 200, 250}), 0.5, 2).values,
              Near({150, 200, 250}));
  // Lightness 60 becomes 120; saturation (80-40)/120 = 1/3 spans 80..160.
  EXPECT_THAT(BleachDark(Colours({80, 60, 40}), 0.5, 2).values,
              Near({160, 120, 80}));
  // Lightness beyond 1 is white.
  EXPECT_THAT(BleachDark(Colours({120, 100, 120}), 0.5, 3).values,
              Near({255, 255, 255}));
}

}  // namespace
}  // namespace feedrate
