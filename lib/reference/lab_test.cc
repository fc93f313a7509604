#include "lib/reference/lab.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

Pixels Colour(double r, double g, double b) {
  Pixels image(1, 1, 3);
  image.values = {r, g, b};
  return image;
}

std::vector<double> Lab(double r, double g, double b) {
  return RgbToLab(Colour(r, g, b)).values;
}

TEST(LabTest, TheEndsOfLightness) {
  EXPECT_THAT(Lab(0, 0, 0),
              Pointwise(DoubleNear(1e-9), std::vector<double>{0, 0, 0}));
  EXPECT_THAT(Lab(255, 255, 255),
              Pointwise(DoubleNear(1e-2), std::vector<double>{100, 0, 0}));
}

// Published values of the corners of sRGB.
TEST(LabTest, PureColours) {
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
        const Pixels colour = Colour(r, g, b);
        EXPECT_THAT(LabToRgb(RgbToLab(colour)).values,
                    Pointwise(DoubleNear(0.01), colour.values));
      }
    }
  }
}

}  // namespace
}  // namespace feedrate
