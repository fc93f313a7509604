// Batches as the launches would write them, with the kernels' arithmetic on the
// host, compared with those of the CPU loader for the same seed: the same
// crops, draws and pairs.
#include "lib/loader/cuda/gpu_recipe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/loader/cuda/gpu_work.h"
#include "lib/loader/cuda/testing/recipe_batches.h"
#include "lib/loader/loader.h"
#include "lib/loader/source.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image.h"
#include "lib/media/image_file.h"
#include "lib/ops/cuda/kernels/host_kernels.h"

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

// What ChunkMaker does, on the host.
TestBatches ByLaunches(const LoaderOptions& options, const std::string& folder,
                       int most) {
  const GpuRecipe recipe =
      GpuRecipe::Create(options.recipe, options.mix).value();
  const auto source = FolderSource(folder).value();
  const ItemOrder order(0, kTestFiles, kTestFiles, false, kTestSeed, 0);
  const int64_t values = recipe.shape().values();
  // In an order unrelated to their places.
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

// `change` is called with both recipes.
void Compare(
    const std::string& transform, int crop, const Levels& allowed,
    const std::function<void(Recipe*)>& change = [](Recipe*) {}) {
  SCOPED_TRACE(transform);
  const std::string folder = TestFolder(kTestFiles);
  LoaderOptions cpu = TestOptions(transform, {"native", "opencv"}, crop);
  LoaderOptions cuda = TestOptions(transform, {"cuda"}, crop);
  change(&cpu.recipe);
  change(&cuda.recipe);
  const TestBatches wanted = CpuBatches(cpu, folder);
  const TestBatches made = ByLaunches(cuda, folder, 6);
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
  // Larger than any image: zeros around it.
  Compare("HorizontalFlip", 64, kEqual);
  Compare("RandomCrop224", 224, kEqual);
  Compare("Solarize", 24, kEqual);
}

TEST(GpuRecipeTest, CropsNeedNotBeSquares) {
  Compare("HorizontalFlip", 24, kEqual,
          [](Recipe* recipe) { recipe->crop_width = 17; });
}

// Windows are the same, and filters differ: OpenCV's areas, and ours as wide as
// Pillow's.
TEST(GpuRecipeTest, ResizedSidesAreThoseOfTheCpu) {
  for (const CropPosition position :
       {CropPosition::kRandom, CropPosition::kCenter}) {
    Compare("HorizontalFlip", 20, {120, 6}, [&](Recipe* recipe) {
      recipe->crop_width = 16;
      recipe->resize = 24;
      recipe->position = position;
    });
  }
}

TEST(GpuRecipeTest, PairsAreThoseOfTheCpu) {
  Compare("Mixup", 24, kEqual);
  Compare("CutMix", 24, kEqual);
}

// The CPU rounds to bytes after each step, the launch once.
TEST(GpuRecipeTest, ThreeAugmentIsThatOfTheCpu) {
  Compare("ThreeAugment", 24, {5, 1});
}

// A recipe as the Python module gives it, of `opencv` or of `cuda`.
LoaderOptions ShuffledOptions(const char* library) {
  LoaderOptions options = TestOptions("HorizontalFlip", {library}, 24);
  options.recipe.steps[0].probability = 0.5;
  options.mix.kind = MixKind::kMixup;
  options.batch_size = 3;
  options.shuffle = true;
  options.seed = 9;
  return options;
}

TEST(GpuRecipeTest, SharesOfAnEpochAreThoseOfTheCpu) {
  const std::string folder = TestFolder(kTestFiles);
  const LoaderOptions ours = ShuffledOptions("cuda");
  const auto loader =
      Loader::Create(FolderSource(folder).value(), ShuffledOptions("opencv"))
          .value();
  const GpuRecipe recipe = GpuRecipe::Create(ours.recipe, ours.mix).value();
  EXPECT_FALSE(recipe.needs_clusters());
  EpochShare share;
  share.rank = 1;
  share.world = 2;
  constexpr int64_t kEpoch = 4;
  const auto epoch = loader->StartShare(ours.seed, kEpoch, share).value();
  for (int64_t number = 0; number < 2; ++number) {
    const auto kept = epoch->NextKept().value();
    const LoaderBatch& batch = kept->batch;
    const MixPlan mix = recipe.DrawPlan(
        ours.seed, share.rank + number * share.world * ours.batch_size, kEpoch);
    EXPECT_EQ(mix.own_share, batch.mix.own_share);
    std::vector<HostImage> images;
    std::vector<fused::Recipe> recipes;
    for (int i = 0; i < batch.size; ++i) {
      images.push_back(ReadTestImage(loader->source(), batch.items[i]));
      Random random = ItemRandom(ours.seed, batch.items[i], kEpoch);
      recipes.push_back(
          recipe.Draw({images[i].height, images[i].width}, &random));
      const int partner = MixPartner(i, batch.size);
      recipes[i].mix = MixOfPlan(mix, partner == i ? -1 : partner);
    }
    const std::vector<float> wanted(
        batch.data, batch.data + batch.size * batch.shape.values());
    const Levels levels = DifferenceOf(
        wanted, fused::HostRecipe(images, recipes, recipe.batch()));
    EXPECT_LE(levels.greatest, kEqual.greatest) << "batch " << number;
  }
}

TEST(GpuRecipeTest, BytesAndPixelsAreThoseOfTheCpu) {
  const std::string folder = TestFolder(kTestFiles);
  for (const SampleFormat format :
       {SampleFormat::kFloatPixels, SampleFormat::kBytePlanes,
        SampleFormat::kBytePixels}) {
    SCOPED_TRACE(static_cast<int>(format));
    const auto options = [&](const char* library) {
      LoaderOptions made = ShuffledOptions(library);
      made.recipe.format = format;
      made.mix.kind = MixKind::kNone;
      return made;
    };
    const LoaderOptions ours = options("cuda");
    const auto loader =
        Loader::Create(FolderSource(folder).value(), options("opencv")).value();
    const GpuRecipe recipe = GpuRecipe::Create(ours.recipe, ours.mix).value();
    const auto kept =
        loader->StartShare(ours.seed, 0, {}).value()->NextKept().value();
    const LoaderBatch& batch = kept->batch;
    ASSERT_EQ(recipe.shape().bytes(), batch.shape.bytes());
    std::vector<HostImage> images;
    std::vector<fused::Recipe> recipes;
    for (const int64_t item : batch.items) {
      images.push_back(ReadTestImage(loader->source(), item));
      Random random = ItemRandom(ours.seed, item);
      recipes.push_back(
          recipe.Draw({images.back().height, images.back().width}, &random));
    }
    const std::vector<float> made =
        fused::HostRecipe(images, recipes, recipe.batch());
    ASSERT_EQ(static_cast<int64_t>(made.size()),
              batch.size * batch.shape.values());
    const auto* bytes = reinterpret_cast<const uint8_t*>(batch.data);
    for (size_t i = 0; i < made.size(); ++i) {
      const float wanted = batch.shape.is_float() ? batch.data[i] : bytes[i];
      ASSERT_NEAR(made[i], wanted, batch.shape.is_float() ? 1e-5 : 0) << i;
    }
  }
}

GpuRecipe RecipeOf(const char* transform, int crop) {
  const LoaderOptions options = TestOptions(transform, {"cuda"}, crop);
  return GpuRecipe::Create(options.recipe, options.mix).value();
}

TEST(GpuRecipeTest, EveryOneOfTheThreeIsDrawn) {
  const GpuRecipe recipe = RecipeOf("ThreeAugment", 24);
  EXPECT_TRUE(recipe.batch().thirds);
  EXPECT_TRUE(recipe.batch().colors);
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
  const GpuRecipe recipe = RecipeOf("RandomResizedCrop", 224);
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

Recipe Steps(const std::vector<std::string>& steps) {
  Recipe recipe;
  recipe.steps = StepsOf({"ThreeAugment", kStepsOp, steps, ""}).value();
  return recipe;
}

TEST(GpuRecipeTest, WhatALaunchDoesNotDoIsNamed) {
  const auto refused = [](const Recipe& recipe) {
    return std::string(GpuRecipe::Create(recipe, {}).status().message());
  };
  EXPECT_THAT(refused(Steps({"step1=equalize"})), HasSubstr("equalize"));
  EXPECT_THAT(refused(Steps({"step1=flip{axis=vertical}"})),
              HasSubstr("is not part of the recipe"));
  EXPECT_THAT(refused(Steps({"step1=tone{kind=solarize;amount=64}"})),
              HasSubstr("is not part of the recipe"));
  EXPECT_THAT(refused(Steps({"step1=jitter{brightness=U(0.5,1)}",
                             "step2=gaussian_blur{size=5;sigma=1}"})),
              HasSubstr("at most one of"));
  EXPECT_THAT(refused(Steps({"step1=jitter{brightness=U(0.5,1)}",
                             "step2=jitter{contrast=U(0.5,1)}"})),
              HasSubstr("at most one of"));
  EXPECT_THAT(refused(Steps({"step1=resize{size=(3,3)}"})),
              HasSubstr("is not part of the recipe"));
  Recipe nine = Steps({"step1=flip{axis=horizontal}"});
  nine.channels = 9;
  EXPECT_THAT(refused(nine), HasSubstr("three channels"));
  Recipe crop = Steps({"step1=flip{axis=horizontal}"});
  crop.first_step_crops = true;
  EXPECT_THAT(refused(crop), HasSubstr("is not a crop"));
  crop.steps.clear();
  EXPECT_THAT(refused(crop), HasSubstr("does not begin with a crop"));
}

TEST(DecodeCostTest, SmallWindowsHighUpAreTheCpus) {
  constexpr int kFiles = 400;
  const auto source =
      ListSource(std::vector<ListedFile>(kFiles, {"a.jpg", 110000}));
  const GpuRecipe recipe = RecipeOf("RandomResizedCrop", 224);
  DecodeCost cost(*source, recipe);
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
  const auto source = ListSource({{"a.jpg", 240000}});
  // The window is at the upper left: all rows, half of the columns.
  const GpuRecipe recipe = RecipeOf("HorizontalFlip", 300);
  DecodeCost cost(*source, recipe);
  cost.Learn(0, {300, 600}, true);
  EXPECT_NEAR(cost.Of(0, 1), (240000 + 300 * 300) / (300.0 * 600), 1e-9);
  // Larger than the image.
  cost.Learn(0, {200, 100}, true);
  EXPECT_NEAR(cost.Of(0, 1), (240000 + 200 * 100) / (200.0 * 100), 1e-9);
}

TEST(DecodeCostTest, WhatAnEngineCannotDecodeIsTheCpus) {
  const auto source = ListSource({{"a.jpg", 1000}, {"b.png", 9999}});
  const GpuRecipe recipe = RecipeOf("HorizontalFlip", 24);
  DecodeCost cost(*source, recipe);
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

// Entries of configs/transforms/ for `nvdec` are recipes of one launch.

Recipe RecipeOf(const Catalogue& catalogue, const Transform& transform,
                const Implementation& entry) {
  Recipe recipe;
  recipe.steps = StepsOf({transform.name(),
                          entry.native_op(),
                          {entry.params().begin(), entry.params().end()},
                          ""})
                     .value();
  const auto& crops = catalogue.policy().loader().crop_transforms();
  recipe.first_step_crops =
      std::find(crops.begin(), crops.end(), transform.name()) != crops.end();
  return recipe;
}

TEST(ClipRecipesTest, EveryEntryIsOneLaunch) {
  const Catalogue catalogue = Catalogue::Load("configs").value();
  const TransformSet& set =
      **catalogue.Transforms(*catalogue.FindScenario("video-16f"));
  int entries = 0;
  for (const Transform& transform : set.transforms()) {
    for (const Implementation& entry : transform.implementations()) {
      if (entry.library() != "nvdec") continue;
      SCOPED_TRACE(transform.name());
      ++entries;
      const auto recipe =
          GpuRecipe::Create(RecipeOf(catalogue, transform, entry), {});
      ASSERT_TRUE(recipe.ok()) << recipe.status();
      EXPECT_FALSE(recipe->mixes());
      EXPECT_EQ(recipe->batch().height, 224);
      // A frame of the synthetic videos.
      const FusedSize frame = {240, 320};
      for (uint64_t seed = 0; seed < 20; ++seed) {
        Random random(seed);
        const fused::Window window = recipe->Draw(frame, &random).window;
        EXPECT_GE(window.top, 0);
        EXPECT_GE(window.left, 0);
        EXPECT_LE(window.top + window.height, frame.height);
        EXPECT_LE(window.left + window.width, frame.width);
      }
    }
  }
  EXPECT_EQ(entries, 12);
}

}  // namespace
}  // namespace feedrate
