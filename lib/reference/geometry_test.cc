#include "lib/reference/geometry.h"

#include <cstdint>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/testing.h"

namespace feedrate {
namespace {

using ::testing::Each;
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

// Values that reveal an error in any direction.
Pixels Uneven(int height, int width) {
  Pixels image(height, width, 1);
  for (int i = 0; i < height * width; ++i) image.values[i] = (i * 37) % 251;
  return image;
}

TEST(ResampleTest, ResizeMeetsAtTheOuterEdges) {
  // Twice as wide: read at -0.25, 0.25, 0.75, 1.25.
  EXPECT_THAT(Resize(Gray(1, 2, {0, 100}), 1, 4).values,
              Near({0, 25, 75, 100}));
  // Half as wide, not smoothed: read at 0.5 and 2.5.
  EXPECT_THAT(Resize(Gray(1, 4, {0, 10, 50, 90}), 1, 2).values, Near({5, 70}));
  // A third as wide reads every third pixel and ignores the others.
  EXPECT_THAT(Resize(Gray(1, 3, {0, 7, 255}), 1, 1).values, Near({7}));
}

TEST(ResampleTest, ResizeToItselfIsNothing) {
  EXPECT_THAT(Resize(Uneven(4, 5), 4, 5).values, Near(Uneven(4, 5).values));
}

TEST(ResampleTest, SidesRoundDown) {
  EXPECT_EQ(LongestSide(Pixels(500, 333, 1), 512).height, 512);
  EXPECT_EQ(LongestSide(Pixels(500, 333, 1), 512).width, 340);  // 340.99
  EXPECT_EQ(ShortestSide(Pixels(375, 500, 1), 512).height, 512);
  EXPECT_EQ(ShortestSide(Pixels(375, 500, 1), 512).width, 682);  // 682.67
  EXPECT_EQ(LongestSide(Pixels(10000, 1, 1), 512).width, 1);
}

TEST(ResampleTest, TheSquareInTheMiddle) {
  EXPECT_THAT(CenterSquare(Gray(1, 4, {1, 2, 3, 4})).values, ElementsAre(2));
}

TEST(ResampleTest, AQuarterTurnIsExact) {
  const Pixels square = Uneven(5, 5);
  EXPECT_THAT(Affine(square, 90, 1, {0, 0}).values,
              Near(RotateQuarters(square, 1).values));
}

TEST(ResampleTest, ShiftsRightAndDown) {
  EXPECT_THAT(Affine(Gray(2, 2, {1, 2, 3, 4}), 0, 1, {1, 0}).values,
              Near({0, 1, 0, 3}));
  EXPECT_THAT(Affine(Gray(2, 2, {1, 2, 3, 4}), 0, 1, {0, 1}).values,
              Near({0, 0, 1, 2}));
}

TEST(ResampleTest, ScalesAboutTheCenter) {
  // Twice as large: read at 0.5, 1, 1.5 of 0 1 2.
  EXPECT_THAT(Affine(Gray(1, 3, {10, 20, 60}), 0, 2, {0, 0}).values,
              Near({15, 20, 40}));
}

TEST(ResampleTest, ZerosOutsideBlendAtTheEdge) {
  EXPECT_THAT(Affine(Gray(1, 2, {100, 100}), 0, 1, {0.25, 0}).values,
              Near({75, 100}));
}

TEST(ResampleTest, ShearMovesTheTopRight) {
  // 45 degrees moves the row above the center by one.
  EXPECT_THAT(ShearX(Gray(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}), 45).values,
              Near({0, 1, 2, 4, 5, 6, 8, 9, 0}));
}

TEST(ResampleTest, PerspectiveReadsAtTheQuotient) {
  // One column further right.
  EXPECT_THAT(
      Perspective(Gray(1, 3, {1, 2, 3}), {1, 0, 1, 0, 1, 0, 0, 0}).values,
      Near({2, 3, 0}));
  // x / (x + 1): 0, 1/2, 2/3.
  EXPECT_THAT(
      Perspective(Gray(1, 3, {0, 60, 255}), {1, 0, 0, 0, 1, 0, 1, 0}).values,
      Near({0, 30, 40}));
}

TEST(ResampleTest, PerspectiveAtInfinityIsOutside) {
  // w is 0 in the second column.
  EXPECT_THAT(Perspective(Gray(1, 2, {9, 9}), {1, 0, 5, 0, 1, 0, -1, 0}).values,
              Each(0));
}

TEST(ResampleTest, FisheyeOfNoStrengthIsNothing) {
  EXPECT_THAT(Fisheye(Uneven(4, 6), 0).values, Near(Uneven(4, 6).values));
}

TEST(ResampleTest, FisheyeStretchesWithTheSquare) {
  // 1x4: center (2, 0.5), half diagonal sqrt(4.25). At x=3 the square of the
  // distance is 1.25, so the pixel is read at 2 + 1 + 0.5*1.25/4.25 across and
  // 0.5 - 0.5 * (1 + 0.5*1.25/4.25) down.
  const double stretch = 1 + 0.5 * 1.25 / 4.25;
  const Pixels row = Gray(1, 4, {0, 0, 0, 200});
  EXPECT_NEAR(Fisheye(row, 0.5).at(0, 3, 0),
              200 * (1 - (stretch - 1)) * (1 - 0.5 * (stretch - 1)), 1e-9);
}

TEST(ResampleTest, ShiftedRepeatsTheBorder) {
  EXPECT_THAT(Shifted(Gray(1, 3, {10, 20, 40}), {0.5, 0}).values,
              Near({15, 30, 40}));
}

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
