// Entries of configs/transforms/ for `nvdec` are recipes of one launch.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lib/adapters/cuda/fused_op.h"
#include "lib/adapters/cuda/recipe_batch.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/params.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/loader/cuda/gpu_recipe.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

TransformSpec SpecOf(const Catalogue& catalogue, const Transform& transform,
                     const Implementation& entry) {
  TransformSpec spec;
  spec.library = "nvdec";
  spec.transform = transform.name();
  spec.scenario = "video-16f";
  spec.native_op = entry.native_op();
  spec.params.assign(entry.params().begin(), entry.params().end());
  spec.device = "cuda";
  LoaderSpec& loader = spec.loader.emplace();
  loader.scope = "decode_dataloader_augment";
  loader.source = "files";
  loader.channels = 3;
  loader.crop = 224;
  loader.mean = {0.485, 0.456, 0.406};
  loader.std = {0.229, 0.224, 0.225};
  const auto& crops = catalogue.policy().loader().crop_transforms();
  loader.is_crop =
      std::find(crops.begin(), crops.end(), transform.name()) != crops.end();
  return spec;
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
          GpuRecipe::Create(SpecOf(catalogue, transform, entry));
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
