#include "lib/reference/tone.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

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

}  // namespace
}  // namespace feedrate
