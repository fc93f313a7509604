// Every entry of configs/transforms/ for the library torch, on two small
// images: an output of the right shape, the same for the same seed, and not the
// input again.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/torch/arm_blas.h"
#include "lib/adapters/torch/torch_adapter.h"
#include "lib/adapters/worker/testing/small_corpus.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/media/convert_corpus.h"
#include "lib/media/corpus.h"

namespace feedrate {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Matcher;
using Shape = std::vector<int64_t>;

// What comes out, with its bytes kept.
struct Kept {
  Output output;
  std::string bytes;
};

Kept Keep(PreparedTransform* transform, int64_t item, uint64_t seed) {
  transform->Seed(seed);
  const absl::StatusOr<Output> output = transform->RunForOutput(item);
  EXPECT_TRUE(output.ok()) << output.status();
  if (!output.ok()) return {};
  return {*output,
          std::string(static_cast<const char*>(output->data), output->bytes)};
}

// By the definition of the transform, whoever does it.
Matcher<Shape> ExpectedShape(const std::string& name, const ItemView& in) {
  const int64_t h = in.height, w = in.width, c = in.channels;
  const int64_t longest = std::max(h, w), shortest = std::min(h, w);
  if (name == "Resize") return ElementsAre(c, 512, 512);
  if (name == "RandomCrop224" || name == "CenterCrop224" ||
      name == "RandomResizedCrop") {
    return ElementsAre(c, 224, 224);
  }
  if (name == "Pad") return ElementsAre(c, h + 20, w + 20);
  if (name == "LongestMaxSize") {
    return ElementsAre(c, h * 512 / longest, w * 512 / longest);
  }
  if (name == "SmallestMaxSize") {
    return ElementsAre(c, h * 512 / shortest, w * 512 / shortest);
  }
  if (name == "Transpose") return ElementsAre(c, w, h);
  if (name == "RandomRotate90") {
    return AnyOf(ElementsAre(c, h, w), ElementsAre(c, w, h));
  }
  return ElementsAre(c, h, w);
}

// Two small images as torch wants them.
Corpus Planes(int channels) {
  return ConvertCorpus(SmallCorpus(channels), {DType::kUint8, Layout::kChw, 0},
                       1)
      .value();
}

class CellsTest : public ::testing::Test {
 protected:
  CellsTest() : catalogue_(Catalogue::Load("configs").value()) {}

  // Tries every entry of `scenario`; how many are of the profile `paper`.
  int TryAll(const std::string& scenario, int channels) {
    const Corpus corpus = Planes(channels);
    const TransformSet& set =
        **catalogue_.Transforms(*catalogue_.FindScenario(scenario));
    int paper = 0;
    for (const Transform& transform : set.transforms()) {
      for (const Implementation& entry : transform.implementations()) {
        if (entry.library() != "torch") continue;
        SCOPED_TRACE(absl::StrCat(scenario, " ", transform.name(), " ",
                                  entry.params_profile()));
        TryOne(scenario, transform.name(), entry, corpus);
        paper += entry.params_profile() != "matched";
      }
    }
    return paper;
  }

  void TryOne(const std::string& scenario, const std::string& name,
              const Implementation& entry, const Corpus& corpus) {
    TransformSpec spec;
    spec.library = "torch";
    spec.transform = name;
    spec.native_op = entry.native_op();
    spec.params.assign(entry.params().begin(), entry.params().end());
    spec.wrap = entry.wrap();
    spec.scenario = scenario;
    spec.device = "cpu";
    spec.torch_intra_op = 1;
    spec.torch_inter_op = 1;
    const auto prepared = adapter_.Prepare(spec, corpus);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    for (int64_t item = 0; item < corpus.size(); ++item) {
      TryItem(name, prepared->get(), corpus.item(item), item);
    }
  }

  void TryItem(const std::string& name, PreparedTransform* transform,
               const ItemView& in, int64_t item) {
    const std::string input(static_cast<const char*>(in.data), in.bytes);
    const Kept kept = Keep(transform, item, 7);
    EXPECT_EQ(kept.output.dtype, "uint8");
    EXPECT_EQ(kept.output.layout, "CHW");
    EXPECT_THAT(kept.output.shape, ExpectedShape(name, in));
    int64_t values = 1;
    for (int64_t size : kept.output.shape) values *= size;
    EXPECT_EQ(kept.output.bytes, values);
    EXPECT_TRUE(Keep(transform, item, 7).bytes == kept.bytes)
        << "another output for the same seed";
    // Some may draw what changes nothing (no quarter turn), but not always.
    bool changed = kept.bytes != input;
    for (uint64_t seed = 8; !changed && seed < 24; ++seed) {
      changed = Keep(transform, item, seed).bytes != input;
    }
    EXPECT_TRUE(changed) << "always gives its input back";
  }

  Catalogue catalogue_;
  TorchAdapter adapter_;
};

TEST_F(CellsTest, ThreeChannels) { EXPECT_EQ(TryAll("image-rgb", 3), 42); }

TEST_F(CellsTest, NineChannels) { EXPECT_EQ(TryAll("image-9ch", 9), 35); }

TEST_F(CellsTest, ThreadsAreAsTold) {
  const Corpus corpus = Planes(3);
  TransformSpec spec;
  spec.native_op = "at::bitwise_not";
  spec.torch_intra_op = 1;
  ASSERT_TRUE(adapter_.Prepare(spec, corpus).ok());
  EXPECT_EQ(adapter_.threads(), 1);
  spec.torch_intra_op = 2;
  ASSERT_TRUE(adapter_.Prepare(spec, corpus).ok());
  EXPECT_EQ(adapter_.threads(), 2);
  spec.device = "cuda";
  EXPECT_FALSE(adapter_.Prepare(spec, corpus).ok());
}

TEST_F(CellsTest, OtherLayoutsAreRefused) {
  TransformSpec spec;
  spec.native_op = "at::bitwise_not";
  EXPECT_EQ(adapter_.Prepare(spec, SmallCorpus(3)).status().message(),
            "torch needs a corpus of uint8 CHW");
}

TEST_F(CellsTest, WhatItDoesNotUnderstandIsAnError) {
  const Corpus corpus = Planes(3);
  const auto error = [&](const std::string& op,
                         const std::vector<std::string>& params,
                         const std::string& wrap = "") {
    TransformSpec spec;
    spec.transform = "T";
    spec.native_op = op;
    spec.params = params;
    spec.wrap = wrap;
    return std::string(adapter_.Prepare(spec, corpus).status().message());
  };
  EXPECT_EQ(error("at::dance", {}),
            "T: the torch adapter has no operation at::dance");
  EXPECT_EQ(error("at::flip", {"dims=(-1)", "p=1"}),
            "T: at::flip: parameter p=1 is not known to this operation");
  EXPECT_EQ(error("at::pow", {}), "T: at::pow: parameter gamma is missing");
  EXPECT_EQ(error("at::bitwise_not", {}, "twice"),
            "T: the torch adapter knows no wrap \"twice\"");
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  feedrate::AvoidHiddenSve(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
