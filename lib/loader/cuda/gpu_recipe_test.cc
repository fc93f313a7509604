// Batches as the launches would write them, by the kernels' own arithmetic on
// the host, held against those that the loader on the CPU delivers for the same
// seed: the same crops, the same draws, the same pairs.
#include "lib/loader/cuda/gpu_recipe.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/cuda/bench/host_ops.h"
#include "lib/adapters/cuda/host_kernels.h"
#include "lib/adapters/cuda/recipe_batch.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/loader/batch_mix.h"
#include "lib/loader/cuda/batch_queue.h"
#include "lib/loader/cuda/testing/recipe_batches.h"
#include "lib/loader/file_source.h"
#include "lib/loader/item_order.h"
#include "lib/loader/read_buffer.h"
#include "lib/loader/source.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image.h"
#include "lib/media/image_file.h"

namespace feedrate {
namespace {

using fused::HostImage;
using ::testing::HasSubstr;

HostImage ReadTestImage(const Source& source, int64_t item) {
  ReadBuffer buffer;
  const Image image = DecodeImage(source.Read(item, &buffer).value()).value();
  return fused::MakeImage(image.height(), image.width(),
                          [&](int y, int x, int c) {
                            return static_cast<float>(
                                image.data()[(y * image.width() + x) * 3 + c]);
                          });
}

// What ChunkMaker does, with the host in the place of the device.
TestBatches ByLaunches(const TransformSpec& spec, const std::string& folder,
                       int most) {
  const GpuRecipe recipe = GpuRecipe::Create(spec).value();
  const auto source = FolderSource(folder).value();
  const ItemOrder order(0, kTestFiles, kTestFiles, false, kTestSeed, 0);
  const int64_t values = int64_t{3} * spec.loader->crop * spec.loader->crop;
  // In an order that has nothing to do with their places.
  BatchQueue queue(kTestFiles, kTestBatch, 2, recipe.mixes(),
                   [](int64_t item) { return item * 5 % 7; });
  TestBatches batches(2);
  while (const auto piece = queue.Take(most, BatchQueue::End::kHigh)) {
    std::vector<float>& out = batches[piece->batch];
    out.resize(piece->size * values);
    const MixPlan mix = recipe.DrawPlan(kTestSeed, piece->batch);
    std::vector<HostImage> images;
    std::vector<fused::Recipe> recipes;
    for (int i = 0; i < piece->samples(); ++i) {
      const int64_t item =
          order.Item(piece->batch * kTestBatch + piece->places[i]);
      images.push_back(ReadTestImage(*source, item));
      Random random = ItemRandom(kTestSeed, item);
      recipes.push_back(
          recipe.Draw({images.back().height, images.back().width}, &random));
      recipes.back().mix = MixOfPlan(mix, piece->PartnerOf(i));
    }
    const std::vector<float> made =
        fused::HostRecipe(images, recipes, recipe.batch());
    for (int i = 0; i < piece->samples(); ++i) {
      std::copy_n(made.begin() + i * values, values,
                  out.begin() + piece->places[i] * values);
    }
  }
  return batches;
}

void Compare(const std::string& transform, int crop, const Levels& allowed) {
  SCOPED_TRACE(transform);
  const std::string folder = TestFolder(kTestFiles);
  const TestBatches wanted =
      CpuBatches(RecipeSpec(transform, {"native", "opencv"}, crop), folder);
  const TestBatches made =
      ByLaunches(RecipeSpec(transform, {"cuda"}, crop), folder, 6);
  ASSERT_EQ(wanted.size(), made.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Levels levels = DifferenceOf(wanted[i], made[i]);
    EXPECT_LE(levels.greatest, allowed.greatest) << "batch " << i;
    EXPECT_LE(levels.mean, allowed.mean) << "batch " << i;
  }
}

// Rounding of floats.
constexpr Levels kEqual = {0.01, 0.01};

TEST(GpuRecipeTest, CropsAndFlipsAreThoseOfTheCpu) {
  Compare("HorizontalFlip", 24, kEqual);
  // Larger than any image: zeros around.
  Compare("HorizontalFlip", 64, kEqual);
  Compare("RandomCrop224", 224, kEqual);
  Compare("Solarize", 24, kEqual);
}

TEST(GpuRecipeTest, PairsAreThoseOfTheCpu) {
  Compare("Mixup", 24, kEqual);
  Compare("CutMix", 24, kEqual);
}

// The CPU rounds to bytes after each step, the launch once.
TEST(GpuRecipeTest, ThreeAugmentIsThatOfTheCpu) {
  Compare("ThreeAugment", 24, {5, 1});
}

TEST(GpuRecipeTest, EveryOneOfTheThreeIsDrawn) {
  const GpuRecipe recipe =
      GpuRecipe::Create(RecipeSpec("ThreeAugment", {"cuda"}, 24)).value();
  EXPECT_TRUE(recipe.batch().thirds);
  EXPECT_TRUE(recipe.batch().colours);
  EXPECT_FALSE(recipe.mixes());
  std::vector<int> thirds(4, 0);
  int flips = 0;
  for (int i = 0; i < 300; ++i) {
    Random random = ItemRandom(1, i);
    const fused::Recipe drawn = recipe.Draw({40, 40}, &random);
    ++thirds[static_cast<int>(drawn.third)];
    flips += drawn.flip;
    EXPECT_NE(drawn.jitter.steps, 0u);
    if (drawn.third == fused::Third::kBlur) {
      EXPECT_EQ(drawn.radius, 2);
      EXPECT_FLOAT_EQ(drawn.sigma, 2);
    }
  }
  EXPECT_EQ(thirds[0], 0);
  for (int i = 1; i < 4; ++i) EXPECT_GT(thirds[i], 60) << i;
  EXPECT_GT(flips, 100);
  EXPECT_LT(flips, 200);
}

TEST(GpuRecipeTest, WindowsOfAResizedCropAreInside) {
  const TransformSpec spec = RecipeSpec("RandomResizedCrop", {"cuda"}, 224);
  const GpuRecipe recipe = GpuRecipe::Create(spec).value();
  for (int i = 0; i < 500; ++i) {
    Random random = ItemRandom(2, i);
    const FusedSize image = {60 + i, 500 - i / 2};
    const fused::Window window = recipe.Draw(image, &random).window;
    EXPECT_GE(window.top, 0);
    EXPECT_GE(window.left, 0);
    EXPECT_LE(window.top + window.height, image.height);
    EXPECT_LE(window.left + window.width, image.width);
    EXPECT_GE(window.height, 1);
    EXPECT_GE(window.width, 1);
  }
}

TransformSpec Steps(const std::vector<std::string>& steps) {
  TransformSpec spec = RecipeSpec("ThreeAugment", {"cuda"}, 24);
  spec.params = steps;
  return spec;
}

TEST(GpuRecipeTest, WhatALaunchDoesNotDoIsNamed) {
  const auto refused = [](const TransformSpec& spec) {
    return std::string(GpuRecipe::Create(spec).status().message());
  };
  EXPECT_THAT(refused(Steps({"step1=equalize"})), HasSubstr("equalize"));
  EXPECT_THAT(refused(Steps({"step1=flip{axis=vertical}"})),
              HasSubstr("is no part of the recipe"));
  EXPECT_THAT(refused(Steps({"step1=tone{kind=solarize;amount=64}"})),
              HasSubstr("is no part of the recipe"));
  EXPECT_THAT(refused(Steps({"step1=jitter{brightness=U(0.5,1)}",
                             "step2=gaussian_blur{size=5;sigma=1}"})),
              HasSubstr("at most one of"));
  EXPECT_THAT(refused(Steps({"step1=jitter{brightness=U(0.5,1)}",
                             "step2=jitter{contrast=U(0.5,1)}"})),
              HasSubstr("at most one of"));
  EXPECT_THAT(refused(Steps({"step1=resize{size=(3,3)}"})),
              HasSubstr("is no part of the recipe"));
  TransformSpec nine = RecipeSpec("HorizontalFlip", {"cuda"}, 24);
  nine.loader->channels = 9;
  EXPECT_THAT(refused(nine), HasSubstr("three channels"));
  TransformSpec crop = RecipeSpec("HorizontalFlip", {"cuda"}, 24);
  crop.loader->is_crop = true;
  EXPECT_THAT(refused(crop), HasSubstr("is no crop"));
}

}  // namespace
}  // namespace feedrate
