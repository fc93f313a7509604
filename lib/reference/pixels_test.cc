#include "lib/reference/pixels.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

TEST(PixelsTest, ChannelsLieSideBySide) {
  const std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 255, 10, 11, 12};
  const Pixels pixels = PixelsFromBytes(bytes.data(), 2, 2, 3);
  EXPECT_EQ(pixels.at(0, 0, 2), 3);
  EXPECT_EQ(pixels.at(0, 1, 0), 4);
  EXPECT_EQ(pixels.at(1, 0, 2), 255);
}

TEST(PixelsTest, BytesAreTheNearestWithHalvesToEven) {
  EXPECT_EQ(AsByte(-3), 0);
  EXPECT_EQ(AsByte(0.5), 0);
  EXPECT_EQ(AsByte(1.5), 2);
  EXPECT_EQ(AsByte(254.4), 254);
  EXPECT_EQ(AsByte(300), 255);
}

TEST(PixelsTest, MapsEachValue) {
  Pixels pixels(1, 2, 1);
  pixels.values = {3, 200};
  EXPECT_THAT(MapValues(pixels, [](double v) { return 255 - v; }).values,
              ElementsAre(252, 55));
}

}  // namespace
}  // namespace feedrate
