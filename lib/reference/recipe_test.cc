#include "lib/reference/recipe.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/compare.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;

// What a recipe makes of `bytes`, one pixel of three channels.
LibraryOutput Normalised(const std::vector<double>& pixel) {
  const std::vector<double> mean = {0.485, 0.456, 0.406};
  const std::vector<double> std = {0.229, 0.224, 0.225};
  LibraryOutput output{Pixels(1, 1, 3), false};
  for (int c = 0; c < 3; ++c) {
    const float value = static_cast<float>((pixel[c] / 255 - mean[c]) / std[c]);
    output.pixels.values[c] = 255.0 * value;
  }
  return output;
}

TEST(RecipeTest, BytesComeBackAsTheyWere) {
  const LibraryOutput back = UndoNormalisation(
      Normalised({0, 128, 255}), {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
  EXPECT_TRUE(back.bytes);
  EXPECT_THAT(back.pixels.values, ElementsAre(0, 128, 255));
}

TEST(RecipeTest, WhatWasNotRoundedStaysSo) {
  const LibraryOutput back =
      UndoNormalisation(Normalised({0.5, 128, 254}), {0.485, 0.456, 0.406},
                        {0.229, 0.224, 0.225});
  EXPECT_FALSE(back.bytes);
  EXPECT_NEAR(back.pixels.values[0], 0.5, 1e-3);
}

TEST(RecipeTest, MeanAndStdRepeatOverTheChannels) {
  LibraryOutput output{Pixels(1, 1, 4), false};
  const LibraryOutput back =
      UndoNormalisation(output, {1.0 / 255, 2.0 / 255}, {1, 1});
  EXPECT_THAT(back.pixels.values, ElementsAre(1, 2, 1, 2));
}

TEST(RecipeTest, RepeatsChannels) {
  Pixels image(1, 1, 3);
  image.values = {1, 2, 3};
  EXPECT_THAT(RepeatChannels(image, 9).values,
              ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3));
}

}  // namespace
}  // namespace feedrate
