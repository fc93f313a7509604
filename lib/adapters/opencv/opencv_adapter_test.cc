// Runs every entry of configs/transforms/ for opencv on two small images: the
// output has the right shape, is the same for the same seed, and differs from
// the input. Also clips.
#include "lib/adapters/opencv/opencv_adapter.h"

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/adapters/worker/testing/cell_checks.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/transforms.pb.h"
#include "lib/media/small_corpus.h"
#include "opencv2/core.hpp"

namespace feedrate {
namespace {

class CellsTest : public ::testing::Test {
 protected:
  CellsTest() : catalogue_(Catalogue::Load("configs").value()) {}

  // Tries every entry of `scenario`, and returns how many have the profile
  // `paper`.
  int TryAll(const std::string& scenario, int channels) {
    const Corpus corpus = SmallCorpus(channels);
    const TransformSet& set =
        **catalogue_.Transforms(*catalogue_.FindScenario(scenario));
    int paper = 0;
    for (const Transform& transform : set.transforms()) {
      for (const Implementation& entry : transform.implementations()) {
        if (entry.library() != "opencv") continue;
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
    PrepareCommand spec;
    spec.set_library("opencv");
    spec.set_transform(name);
    spec.set_native_op(entry.native_op());
    *spec.mutable_params() = entry.params();
    spec.set_wrap(entry.wrap());
    spec.set_scenario(scenario);
    spec.set_device("cpu");
    spec.set_opencv_threads(0);
    spec.set_opencv_opencl(false);
    const auto prepared = adapter_.Prepare(spec, corpus);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    for (int64_t item = 0; item < corpus.size(); ++item) {
      CheckCell(name, "HWC", corpus.item(item), item, prepared->get());
    }
  }

  Catalogue catalogue_;
  OpenCvAdapter adapter_;
};

TEST_F(CellsTest, ThreeChannels) { EXPECT_EQ(TryAll("image-rgb", 3), 51); }

TEST_F(CellsTest, NineChannels) { EXPECT_EQ(TryAll("image-9ch", 9), 37); }

TEST_F(CellsTest, ThreadsAreAsTold) {
  const Corpus corpus = SmallCorpus(3);
  PrepareCommand spec;
  spec.set_native_op("cv::bitwise_not");
  spec.set_opencv_threads(0);
  ASSERT_TRUE(adapter_.Prepare(spec, corpus).ok());
  EXPECT_EQ(adapter_.threads(), 1);
  spec.set_opencv_threads(2);
  ASSERT_TRUE(adapter_.Prepare(spec, corpus).ok());
  EXPECT_EQ(adapter_.threads(), 2);
  spec.set_device("cuda");
  EXPECT_FALSE(adapter_.Prepare(spec, corpus).ok());
}

TEST_F(CellsTest, WhatItDoesNotUnderstandIsAnError) {
  const Corpus corpus = SmallCorpus(3);
  const auto error = [&](const std::string& op,
                         const std::vector<std::string>& params,
                         const std::string& wrap = "") {
    PrepareCommand spec;
    spec.set_transform("T");
    spec.set_native_op(op);
    *spec.mutable_params() = {params.begin(), params.end()};
    spec.set_wrap(wrap);
    return std::string(adapter_.Prepare(spec, corpus).status().message());
  };
  EXPECT_EQ(error("cv::dance", {}),
            "T: the opencv adapter has no operation cv::dance");
  EXPECT_EQ(error("cv::flip", {"flip_code=1", "p=1"}),
            "T: cv::flip: parameter p=1 is not known to this operation");
  EXPECT_EQ(error("cv::flip", {}),
            "T: cv::flip: parameter flip_code is missing");
  EXPECT_EQ(error("cv::blur", {"ksize=(4,4)"}),
            "T: cv::blur: parameter ksize=(4,4): must be odd");
  EXPECT_EQ(error("cv::bitwise_not", {}, "twice"),
            "T: the opencv adapter knows no wrap \"twice\"");
}

constexpr int kFrames = 16;

// Clips of these sizes whose frames are all the same, or all different.
Corpus Clips(const std::vector<cv::Size>& sizes, bool still) {
  CorpusWriter writer =
      CorpusWriter::Create(DType::kUint8, Layout::kHwc).value();
  std::vector<ItemSize> items;
  for (const cv::Size& size : sizes) {
    items.push_back({kFrames, size.height, size.width, 3});
  }
  EXPECT_TRUE(writer.AddRoom(items).ok());
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto* data = static_cast<uint8_t*>(writer.data(i));
    const int64_t bytes = int64_t{3} * sizes[i].area();
    for (int64_t k = 0; k < kFrames * bytes; ++k) {
      const int64_t at = still ? k % bytes : k;
      data[k] = static_cast<uint8_t>(60 + (at * 7 + at / 97) % 120);
    }
  }
  return std::move(writer).Finish().value();
}

std::unique_ptr<PreparedTransform> Make(const std::string& native_op,
                                        const std::vector<std::string>& params,
                                        const Corpus& corpus) {
  PrepareCommand spec;
  spec.set_native_op(native_op);
  *spec.mutable_params() = {params.begin(), params.end()};
  spec.set_opencv_opencl(false);
  auto transform = OpenCvAdapter().Prepare(spec, corpus);
  EXPECT_TRUE(transform.ok()) << transform.status();
  return *std::move(transform);
}

std::string OutputBytes(const Output& output) {
  return std::string(static_cast<const char*>(output.data), output.bytes);
}

// Whether all frames of an output are the same.
bool IsStill(const Output& output) {
  const int64_t frame = output.bytes / kFrames;
  const auto* data = static_cast<const char*>(output.data);
  for (int i = 1; i < kFrames; ++i) {
    if (std::memcmp(data, data + i * frame, frame) != 0) return false;
  }
  return true;
}

TEST(ClipTransformTest, OneDrawOfParametersAClip) {
  const Corpus still = Clips({{40, 30}}, true);
  const std::pair<std::string, std::vector<std::string>> drawn[] = {
      {"cv::getRotationMatrix2D+cv::warpAffine",
       {"angle=U(-45,45)", "interpolation=INTER_NEAREST",
        "border_mode=BORDER_CONSTANT", "fill=0"}},
      {"cv::add",
       {"r_shift=U(-100,100)", "g_shift=U(-100,100)", "b_shift=U(-100,100)"}},
      {"cv::randn+cv::add", {"mean=0", "std=112.2"}},
  };
  for (const auto& [native_op, params] : drawn) {
    const auto transform = Make(native_op, params, still);
    transform->Seed(7);
    const Output first = *transform->RunForOutput(0);
    EXPECT_TRUE(IsStill(first)) << native_op;
    const std::string before = OutputBytes(first);
    EXPECT_NE(OutputBytes(*transform->RunForOutput(0)), before)
        << native_op << ": clips differ in their draws";
    transform->Seed(7);
    EXPECT_EQ(OutputBytes(*transform->RunForOutput(0)), before) << native_op;
  }
}

TEST(ClipTransformTest, FramesAreInOrderAndSizesMayDiffer) {
  const Corpus moving = Clips({{40, 30}, {24, 50}, {40, 30}}, false);
  const auto flip = Make("cv::flip", {"flip_code=1"}, moving);
  for (const int64_t item : {0, 1, 2, 1, 0}) {
    const Output output = *flip->RunForOutput(item);
    const ItemView input = moving.item(item);
    ASSERT_EQ(output.shape,
              (std::vector<int64_t>{kFrames, input.height, input.width, 3}));
    const auto* in = static_cast<const uint8_t*>(input.data);
    const auto* out = static_cast<const uint8_t*>(output.data);
    for (int64_t row = 0; row < int64_t{kFrames} * input.height; ++row) {
      for (int x = 0; x < input.width; ++x) {
        const int64_t from = (row * input.width + x) * 3;
        const int64_t to = (row * input.width + input.width - 1 - x) * 3;
        ASSERT_EQ(std::memcmp(in + from, out + to, 3), 0);
      }
    }
  }
}

}  // namespace
}  // namespace feedrate
