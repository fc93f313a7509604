#include "lib/loader/cuda/decode_cost.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "lib/adapters/cuda/recipe_batch.h"
#include "lib/adapters/worker/params.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/loader/cuda/testing/recipe_batches.h"
#include "lib/worker/source_list.h"

namespace feedrate {
namespace {

GpuRecipe RecipeOf(const char* transform, int crop) {
  return GpuRecipe::Create(RecipeSpec(transform, {"cuda"}, crop)).value();
}

TEST(DecodeCostTest, SmallWindowsHighUpAreTheCpus) {
  constexpr int kFiles = 400;
  const std::vector<SourceFile> files(kFiles, {"a.jpg", 110000});
  const GpuRecipe recipe = RecipeOf("RandomResizedCrop", 224);
  DecodeCost cost(files, recipe);
  int cheap = 0;
  int dear = 0;
  for (int64_t i = 0; i < kFiles; ++i) {
    cost.Learn(i, {400, 600}, true);
    Random random = ItemRandom(7, i);
    const fused::Window window = recipe.Draw({400, 600}, &random).window;
    const int bottom = window.top + window.height;
    const bool small = window.height * window.width < 50000 && bottom < 250;
    const bool large = window.height * window.width > 150000 && bottom > 350;
    const double own = cost.Of(i, 7);
    if (small) {
      EXPECT_LT(own, 0.51);
    }
    if (large) {
      EXPECT_GT(own, 1.02);
    }
    cheap += small ? 1 : 0;
    dear += large ? 1 : 0;
  }
  EXPECT_GT(cheap, 10);
  EXPECT_GT(dear, 10);
}

TEST(DecodeCostTest, CountsCodesAndPixels) {
  const std::vector<SourceFile> files = {{"a.jpg", 240000}};
  // The window is the upper left of it: all of its rows, half of its columns.
  const GpuRecipe recipe = RecipeOf("HorizontalFlip", 300);
  DecodeCost cost(files, recipe);
  cost.Learn(0, {300, 600}, true);
  EXPECT_NEAR(cost.Of(0, 1), (240000 + 300 * 300) / (300.0 * 600), 1e-9);
  // Larger than the image.
  cost.Learn(0, {200, 100}, true);
  EXPECT_NEAR(cost.Of(0, 1), (240000 + 200 * 100) / (200.0 * 100), 1e-9);
}

TEST(DecodeCostTest, WhatAnEngineCannotDecodeIsTheCpus) {
  const std::vector<SourceFile> files = {{"a.jpg", 1000}, {"b.png", 9999}};
  const GpuRecipe recipe = RecipeOf("HorizontalFlip", 24);
  DecodeCost cost(files, recipe);
  EXPECT_FALSE(cost.Knows(1));
  const double guess = cost.Of(1, 0);
  EXPECT_GT(guess, 0);
  cost.Learn(1, {375, 500}, true);
  EXPECT_TRUE(cost.Knows(1));
  EXPECT_EQ(cost.Of(1, 0), guess);
  cost.Learn(1, {65535, 65535}, false);
  EXPECT_EQ(cost.Of(1, 0), 0);
  EXPECT_FALSE(cost.Knows(0));
}

}  // namespace
}  // namespace feedrate
