#include "lib/adapters/cuda/mix.h"

#include <gtest/gtest.h>

namespace feedrate::fused {
namespace {

TEST(MixTest, BoxHasTheAreaThatIsNotOwn) {
  const Window box = CutMixBox(0.75, 112, 112, 224, 224);
  EXPECT_EQ(box.top, 56);
  EXPECT_EQ(box.left, 56);
  EXPECT_EQ(box.height, 112);
  EXPECT_EQ(box.width, 112);
  EXPECT_DOUBLE_EQ(CutMixOwn(box, 224, 224), 0.75);
}

TEST(MixTest, BoxIsCutAtTheBorder) {
  const Window box = CutMixBox(0.75, 0, 223, 224, 224);
  EXPECT_EQ(box.top, 0);
  EXPECT_EQ(box.height, 56);
  EXPECT_EQ(box.left, 167);
  EXPECT_EQ(box.width, 57);
  EXPECT_GT(CutMixOwn(box, 224, 224), 0.9);
}

TEST(MixTest, AllOrNothing) {
  EXPECT_EQ(CutMixBox(1, 50, 50, 100, 100).height, 0);
  EXPECT_DOUBLE_EQ(CutMixOwn(CutMixBox(1, 50, 50, 100, 100), 100, 100), 1);
  EXPECT_DOUBLE_EQ(CutMixOwn(CutMixBox(0, 50, 50, 100, 100), 100, 100), 0);
}

TEST(MixTest, PixelsOfTheBoxAreThePartners) {
  Mix mix;
  mix.own = 0.25f;
  EXPECT_FLOAT_EQ(OwnPart(mix, 0, 0), 0.25f);
  mix.box = {2, 3, 4, 5};
  EXPECT_FLOAT_EQ(OwnPart(mix, 2, 3), 0);
  EXPECT_FLOAT_EQ(OwnPart(mix, 5, 7), 0);
  EXPECT_FLOAT_EQ(OwnPart(mix, 6, 7), 0.25f);
  EXPECT_FLOAT_EQ(OwnPart(mix, 5, 8), 0.25f);
  EXPECT_FLOAT_EQ(OwnPart(mix, 1, 3), 0.25f);
}

}  // namespace
}  // namespace feedrate::fused
