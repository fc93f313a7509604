#include "lib/loader/sample_maker.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;

TransformSpec Spec(const std::string& op, std::vector<std::string> params) {
  TransformSpec spec;
  spec.transform = "T";
  spec.native_op = op;
  spec.params = std::move(params);
  return spec;
}

Recipe Plain(int crop) {
  Recipe recipe;
  recipe.crop = crop;
  recipe.position = CropPosition::kCentre;
  // Values come out as they went in.
  recipe.mean = {0, 0, 0};
  recipe.std = {1, 1, 1};
  recipe.input_scale = 1;
  return recipe;
}

PixelView View(const Image& image) {
  PixelView view;
  view.data = image.data();
  view.height = image.height();
  view.width = image.width();
  view.channels = image.channels();
  view.stride = view.width * view.channels;
  return view;
}

std::vector<float> Make(const Recipe& recipe, const Image& image,
                        uint64_t seed = 1) {
  auto maker = SampleMaker::Create(recipe);
  EXPECT_TRUE(maker.ok()) << maker.status();
  std::vector<float> out((*maker)->shape().values(), -1);
  SampleTimes times;
  const absl::Status status =
      (*maker)->FromPixels(View(image), seed, out.data(), &times);
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(SampleMakerTest, CropsInTheMiddleToPlanes) {
  const Image image = TestImage(20, 30, 3);
  const std::vector<float> out = Make(Plain(8), image);
  ASSERT_EQ(out.size(), 3u * 8 * 8);
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        EXPECT_EQ(out[(c * 8 + y) * 8 + x],
                  image.view().row(6 + y)[(11 + x) * 3 + c]);
      }
    }
  }
}

TEST(SampleMakerTest, AFlipAtTheEndIsThatOfOpenCv) {
  const Image image = TestImage(20, 30, 3);
  for (const char* code : {"flip_code=1", "flip_code=0", "flip_code=-1"}) {
    Recipe fused = Plain(8);
    fused.steps.push_back({{Spec("cv::flip", {code})}, 1});
    // A step behind it that changes nothing keeps it from being fused.
    Recipe apart = fused;
    apart.steps.push_back(
        {{Spec("cv::Mat::convertTo", {"alpha=1", "beta=0"})}, 1});
    EXPECT_EQ(Make(fused, image), Make(apart, image)) << code;
    EXPECT_NE(Make(fused, image), Make(Plain(8), image)) << code;
  }
}

// As often, and for the same seeds, as one that OpenCV does.
TEST(SampleMakerTest, AFlipNowAndThenIsThatOfOpenCv) {
  const Image image = TestImage(20, 30, 3);
  Recipe fused = Plain(8);
  fused.steps.push_back({{Spec("cv::flip", {"flip_code=1"})}, 0.5});
  Recipe apart = fused;
  apart.steps.push_back(
      {{Spec("cv::Mat::convertTo", {"alpha=1", "beta=0"})}, 1});
  const std::vector<float> as_it_is = Make(Plain(8), image);
  int flipped = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<float> sample = Make(fused, image, seed);
    EXPECT_EQ(sample, Make(apart, image, seed)) << seed;
    flipped += sample == as_it_is ? 0 : 1;
  }
  EXPECT_GT(flipped, 5);
  EXPECT_LT(flipped, 35);
}

TEST(SampleMakerTest, PadsWhatIsSmaller) {
  const Image image = TestImage(6, 30, 3);
  const std::vector<float> out = Make(Plain(8), image);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[7 * 8], 0);
  EXPECT_EQ(out[8], image.view().row(0)[11 * 3]);
}

TEST(SampleMakerTest, RepeatsChannels) {
  const Image image = TestImage(20, 30, 3);
  Recipe recipe = Plain(8);
  const std::vector<float> three = Make(recipe, image);
  recipe.channels = 9;
  const std::vector<float> nine = Make(recipe, image);
  for (size_t i = 0; i < nine.size(); ++i) {
    ASSERT_EQ(nine[i], three[i % three.size()]);
  }
  // With a step the channels are there before it.
  recipe.steps.push_back({{Spec("cv::bitwise_not", {})}, 1});
  EXPECT_EQ(Make(recipe, image)[5], 255 - nine[5]);
}

TEST(SampleMakerTest, ACropOfItsOwnTakesThePlaceOfTheFixedOne) {
  Recipe recipe = Plain(8);
  recipe.first_step_crops = true;
  recipe.steps.push_back(
      {{Spec("cv::Mat(Rect)+cv::resize",
             {"size=(5,7)", "scale=(0.3,1.0)", "ratio=(0.75,1.33)", "tries=10",
              "fallback=center", "interpolation=INTER_LINEAR"})},
       1});
  const auto maker = SampleMaker::Create(recipe);
  ASSERT_TRUE(maker.ok()) << maker.status();
  EXPECT_EQ((*maker)->shape().height, 5);
  EXPECT_EQ((*maker)->shape().width, 7);
  const Image image = TestImage(40, 60, 3);
  EXPECT_EQ(Make(recipe, image, 4), Make(recipe, image, 4));
  EXPECT_NE(Make(recipe, image, 4), Make(recipe, image, 5));
}

TEST(SampleMakerTest, BytesAndPixelsGiveTheSame) {
  const Image image = TestImage(40, 60, 3);
  Recipe recipe = Plain(16);
  recipe.position = CropPosition::kRandom;
  recipe.steps.push_back(
      {{Spec("cv::randn+cv::add", {"mean=0", "std=20"})}, 0.9});
  recipe.steps.push_back(
      {{Spec("cv::bitwise_not", {}), Spec("cv::LUT", {"threshold=100"})}, 1});
  auto maker = *SampleMaker::Create(recipe);
  const std::string file = TestNpy(image);
  SampleTimes times;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<float> out(maker->shape().values());
    ASSERT_TRUE(maker->FromBytes(file, seed, out.data(), &times).ok());
    EXPECT_EQ(out, Make(recipe, image, seed));
  }
  EXPECT_GT(times.decode_ns, 0);
  EXPECT_GT(times.augment_ns, 0);
  EXPECT_GT(times.collate_ns, 0);
}

TEST(SampleMakerTest, FromFirstNeedsNoOtherBytes) {
  auto maker = *SampleMaker::Create(Plain(8));
  const std::string file = TestJpeg(20, 30, 3);
  std::vector<float> first(maker->shape().values()), again(first);
  SampleTimes times;
  ASSERT_TRUE(maker->FromFirst(file, 1, first.data(), &times).ok());
  ASSERT_TRUE(maker->FromFirst("no image", 1, again.data(), &times).ok());
  EXPECT_EQ(first, again);
}

TEST(SampleMakerTest, SaysWhatOfTheRecipeIsWrong) {
  const auto message = [](const Recipe& recipe) {
    return std::string(SampleMaker::Create(recipe).status().message());
  };
  Recipe recipe = Plain(8);
  recipe.std = {1, 0, 1};
  EXPECT_THAT(message(recipe), HasSubstr("std above 0"));
  recipe = Plain(8);
  recipe.steps.push_back({{Spec("cv::nothing", {})}, 1});
  EXPECT_THAT(message(recipe), HasSubstr("cv::nothing"));
  recipe.first_step_crops = true;
  EXPECT_THAT(message(recipe), HasSubstr("is no crop"));
  const Image grey = TestImage(20, 30, 3, 2);
  auto maker = *SampleMaker::Create(Plain(8));
  std::vector<float> out(maker->shape().values());
  SampleTimes times;
  EXPECT_THAT(
      std::string(
          maker->FromPixels(View(grey), 0, out.data(), &times).message()),
      HasSubstr("has 2 channels"));
}

}  // namespace
}  // namespace feedrate
