#include "lib/reference/rearrange.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

// 1 2 3
// 4 5 6
Pixels TwoRows() {
  Pixels image(2, 3, 1);
  image.values = {1, 2, 3, 4, 5, 6};
  return image;
}

TEST(RearrangeTest, Flips) {
  EXPECT_THAT(FlipHorizontally(TwoRows()).values,
              ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(FlipVertically(TwoRows()).values, ElementsAre(4, 5, 6, 1, 2, 3));
}

TEST(RearrangeTest, Transposes) {
  const Pixels result = Transpose(TwoRows());
  EXPECT_EQ(result.height, 3);
  EXPECT_EQ(result.width, 2);
  EXPECT_THAT(result.values, ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(RearrangeTest, QuarterTurnsGoCounterClockwise) {
  EXPECT_THAT(RotateQuarters(TwoRows(), 1).values,
              ElementsAre(3, 6, 2, 5, 1, 4));
  EXPECT_EQ(RotateQuarters(TwoRows(), 1).height, 3);
  EXPECT_THAT(RotateQuarters(TwoRows(), 2).values,
              ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(RotateQuarters(TwoRows(), 3).values,
              ElementsAre(4, 1, 5, 2, 6, 3));
  EXPECT_THAT(RotateQuarters(TwoRows(), 4).values, TwoRows().values);
}

TEST(RearrangeTest, PadsOnEachSide) {
  Pixels image(1, 1, 2);
  image.values = {7, 8};
  EXPECT_THAT(PadWithZeros(image, 1).values, ElementsAre(0, 0, 0, 0, 0, 0,  //
                                                         0, 0, 7, 8, 0, 0,  //
                                                         0, 0, 0, 0, 0, 0));
}

TEST(RearrangeTest, CropsWithZerosOutside) {
  EXPECT_THAT(Crop(TwoRows(), 1, 1, 2, 3).values,
              ElementsAre(5, 6, 0, 0, 0, 0));
}

TEST(RearrangeTest, TheMiddleOfAnOddRestIsUpAndLeft) {
  EXPECT_THAT(CropCenter(TwoRows(), 1, 2).values, ElementsAre(1, 2));
  EXPECT_THAT(CropCenter(TwoRows(), 2, 1).values, ElementsAre(2, 5));
}

TEST(RearrangeTest, ASmallImageIsPaddedAround) {
  EXPECT_THAT(CropCenter(TwoRows(), 4, 1).values, ElementsAre(0, 2, 5, 0));
}

TEST(RearrangeTest, Channels) {
  Pixels image(1, 2, 3);
  image.values = {1, 2, 3, 4, 5, 6};
  EXPECT_THAT(OrderChannels(image, {2, 0, 1}).values,
              ElementsAre(3, 1, 2, 6, 4, 5));
  EXPECT_THAT(DropChannel(image, 1).values, ElementsAre(1, 0, 3, 4, 0, 6));
}

}  // namespace
}  // namespace feedrate
