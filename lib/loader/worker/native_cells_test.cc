// Every entry of configs/transforms/ for opencv as a recipe of the loader:
// crop, the transform, normalisation; batches of one shape, the same for the
// same seed.
#include <cmath>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/small_corpus.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/loader/worker/native_adapter.h"
#include "lib/worker/loader_message.h"

namespace feedrate {
namespace {

constexpr int kCrop = 64;

TransformSpec SpecOf(const std::string& scenario, const std::string& name,
                     const Implementation& entry, int channels) {
  TransformSpec spec;
  spec.library = "native";
  spec.transform = name;
  spec.scenario = scenario;
  spec.native_op = entry.native_op();
  spec.params.assign(entry.params().begin(), entry.params().end());
  spec.wrap = entry.wrap();
  LoaderSpec loader;
  loader.scope = kMemoryScope;
  loader.source = "corpus";
  loader.batch_size = 4;
  loader.workers = 2;
  loader.prefetch = 2;
  loader.channels = channels;
  loader.crop = kCrop;
  loader.crop_position = "random";
  loader.is_crop = entry.native_op().find("cv::Mat(Rect)+") == 0;
  loader.mean = {0.485, 0.456, 0.406};
  loader.std = {0.229, 0.224, 0.225};
  loader.input_scale = 255;
  loader.on_error = "fail";
  spec.loader = loader;
  return spec;
}

std::string OutputOf(PreparedLoader* loader, int64_t item, uint64_t seed) {
  const auto output = loader->OutputFor(item, seed);
  EXPECT_TRUE(output.ok()) << output.status();
  if (!output.ok()) return "";
  const float* const values = static_cast<const float*>(output->data);
  for (int64_t i = 0; i < output->bytes / 4; ++i) {
    EXPECT_TRUE(std::isfinite(values[i]));
    if (!std::isfinite(values[i])) break;
  }
  return std::string(static_cast<const char*>(output->data), output->bytes);
}

// How many entries of the profile `paper` run.
int TryAll(const std::string& scenario, int channels) {
  const Catalogue catalogue = Catalogue::Load("configs").value();
  const TransformSet& set =
      **catalogue.Transforms(*catalogue.FindScenario(scenario));
  const Corpus corpus =
      SmallCorpus({{1, 90, 120, channels}, {1, 70, 50, channels}});
  LoaderInput input;
  input.corpus = &corpus;
  int paper = 0;
  for (const Transform& transform : set.transforms()) {
    for (const Implementation& entry : transform.implementations()) {
      if (entry.library() != "opencv" && entry.library() != "native") continue;
      SCOPED_TRACE(absl::StrCat(scenario, " ", transform.name(), " ",
                                entry.params_profile()));
      NativeAdapter adapter;
      auto loader = adapter.PrepareLoader(
          SpecOf(scenario, transform.name(), entry, channels), input);
      EXPECT_TRUE(loader.ok()) << loader.status();
      if (!loader.ok()) continue;
      EpochCommand command;
      command.count = 6;
      const auto reply = (*loader)->RunEpoch(command);
      EXPECT_TRUE(reply.ok()) << reply.status();
      if (!reply.ok()) continue;
      EXPECT_EQ(reply->items, 6);
      EXPECT_EQ(OutputOf(loader->get(), 1, 7), OutputOf(loader->get(), 1, 7));
      paper += entry.params_profile() != "matched";
    }
  }
  return paper;
}

TEST(NativeCellsTest, Rgb) { EXPECT_GE(TryAll("image-rgb", 3), 45); }

TEST(NativeCellsTest, NineChannels) { EXPECT_GE(TryAll("image-9ch", 9), 30); }

}  // namespace
}  // namespace feedrate
