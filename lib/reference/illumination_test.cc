#include "lib/reference/illumination.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

Pixels Flat(int height, int width, double value) {
  return MapValues(Pixels(height, width, 1), [=](double) { return value; });
}

TEST(IlluminationTest, ARampEndsAtTheSide) {
  EXPECT_THAT(LightFromSide(Flat(1, 3, 100), 0.2, Side::kRight).values,
              ElementsAre(100, 125.5, 151));
  EXPECT_THAT(LightFromSide(Flat(1, 3, 100), 0.2, Side::kLeft).values,
              ElementsAre(151, 125.5, 100));
  EXPECT_THAT(LightFromSide(Flat(2, 1, 100), 0.2, Side::kBottom).values,
              ElementsAre(100, 151));
  EXPECT_THAT(LightFromSide(Flat(2, 1, 230), 0.2, Side::kTop).values,
              ElementsAre(255, 230));
}

TEST(IlluminationTest, ACornerIsBrightest) {
  // 4x5: the corners are 5 apart. Four columns from the corner is 0.8 of it.
  const Pixels result = LightFromCorner(Flat(4, 5, 100), 0.2, false, true);
  EXPECT_NEAR(result.at(0, 4, 0), 120, 1e-9);
  EXPECT_NEAR(result.at(0, 0, 0), 100 * (1 + 0.2 * 0.2), 1e-9);
  EXPECT_NEAR(result.at(3, 0, 0), 100, 1e-9);
  const Pixels other = LightFromCorner(Flat(4, 5, 100), 0.2, true, false);
  EXPECT_NEAR(other.at(3, 0, 0), 120, 1e-9);
}

TEST(IlluminationTest, APointFadesAsAGaussian) {
  // Centre (2, 1) of 2x4, spread 0.5 * 4 = 2.
  const Pixels result = LightFromPoint(Flat(2, 4, 100), 0.2, 0.5, 0.5, 0.5);
  EXPECT_NEAR(result.at(1, 2, 0), 120, 1e-9);
  EXPECT_NEAR(result.at(1, 0, 0), 100 * (1 + 0.2 * std::exp(-0.5)), 1e-9);
}

}  // namespace
}  // namespace feedrate
