// The effect of each operation, on small images.
#include "lib/ops/opencv/op.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::ElementsAre;
using Bytes = std::vector<int>;

cv::Mat Image(int rows, int columns, int channels, const Bytes& bytes) {
  cv::Mat image(rows, columns, CV_8UC(channels));
  EXPECT_EQ(bytes.size(), image.total() * channels);
  for (size_t i = 0; i < bytes.size(); ++i) {
    image.data[i] = static_cast<uint8_t>(bytes[i]);
  }
  return image;
}

Bytes BytesOf(const cv::Mat& image) {
  EXPECT_TRUE(image.isContinuous());
  return Bytes(image.data, image.data + image.total() * image.elemSize());
}

cv::Mat Apply(const std::string& native_op,
              const std::vector<std::string>& params, const cv::Mat& in,
              const std::string& wrap = "", uint64_t seed = 1) {
  TransformSpec spec;
  spec.native_op = native_op;
  spec.params = params;
  spec.wrap = wrap;
  absl::StatusOr<Op> op = MakeOp(spec);
  EXPECT_TRUE(op.ok()) << op.status();
  cv::Mat out;
  Random random(seed);
  if (op.ok()) (*op)(in, &random, &out);
  return out;
}

// Equal values, with any number of channels.
cv::Mat Uniform(int rows, int columns, int channels, int value) {
  return cv::Mat(rows, columns * channels, CV_8U, cv::Scalar(value))
      .reshape(channels);
}

// A gray slope of ten rows and twelve columns: 10 * row + column.
cv::Mat Slope(int channels = 1) {
  cv::Mat image(10, 12, CV_8UC(channels));
  for (int i = 0; i < image.rows * image.cols * channels; ++i) {
    const int pixel = i / channels;
    image.data[i] = static_cast<uint8_t>(10 * (pixel / 12) + pixel % 12);
  }
  return image;
}

TEST(MakeOpTest, MovesPixels) {
  const cv::Mat image = Image(2, 2, 1, {1, 2, 3, 4});
  EXPECT_THAT(BytesOf(Apply("cv::flip", {"flip_code=1"}, image)),
              ElementsAre(2, 1, 4, 3));
  EXPECT_THAT(BytesOf(Apply("cv::flip", {"flip_code=0"}, image)),
              ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(BytesOf(Apply("cv::transpose", {}, image)),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(BytesOf(Apply("cv::rotate", {"times=1"}, image)),
              ElementsAre(2, 4, 1, 3));
  EXPECT_THAT(BytesOf(Apply("cv::rotate", {"times=3"}, image)),
              ElementsAre(3, 1, 4, 2));
  EXPECT_THAT(BytesOf(Apply("cv::Mat(Rect)::copyTo",
                            {"grid=(2,2)", "order=(3,2,1,0)"}, image)),
              ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(
      BytesOf(Apply("cv::copyMakeBorder",
                    {"padding=1", "border_mode=BORDER_CONSTANT", "fill=9"},
                    Image(1, 1, 1, {5}))),
      ElementsAre(9, 9, 9, 9, 5, 9, 9, 9, 9));
}

TEST(MakeOpTest, CropsAndPads) {
  const std::vector<std::string> params = {"size=(2,4)", "pad_if_needed=True",
                                           "fill=0"};
  EXPECT_THAT(
      BytesOf(Apply("cv::Mat(Rect)+cv::copyMakeBorder", params, Slope())),
      ElementsAre(44, 45, 46, 47, 54, 55, 56, 57));
  EXPECT_THAT(BytesOf(Apply("cv::Mat(Rect)+cv::copyMakeBorder", params,
                            Image(4, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8}))),
              ElementsAre(0, 3, 4, 0, 0, 5, 6, 0));
  EXPECT_THAT(BytesOf(Apply("cv::Mat(Rect)+cv::copyMakeBorder",
                            {"size=(1,2)", "position=(3,1)",
                             "pad_if_needed=True", "fill=0"},
                            Slope())),
              ElementsAre(31, 32));
}

TEST(MakeOpTest, RandomWindowsReachEveryCorner) {
  std::set<int> corners;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const cv::Mat out = Apply(
        "cv::Mat(Rect)+cv::copyMakeBorder",
        {"size=(9,11)", "position=uniform", "pad_if_needed=True", "fill=0"},
        Slope(), "", seed);
    corners.insert(out.data[0]);
  }
  EXPECT_THAT(corners, ElementsAre(0, 1, 10, 11));
}

TEST(MakeOpTest, AWindowThatNeverFitsIsTheCentralOne) {
  // As large as the image but square: the middle 10 of 12 columns.
  const cv::Mat out =
      Apply("cv::Mat(Rect)+cv::resize",
            {"size=(10,10)", "scale=(1.0,1.0)", "ratio=(1.0,1.0)", "tries=10",
             "fallback=center", "interpolation=INTER_NEAREST"},
            Slope());
  EXPECT_EQ(out.at<uint8_t>(0, 0), 1);
  EXPECT_EQ(out.at<uint8_t>(9, 9), 100);
}

TEST(MakeOpTest, ResizesASideAndKeepsTheAspect) {
  const auto size = [](const char* side) {
    return Apply("cv::resize",
                 {"max_size=100", std::string("side=") + side,
                  "interpolation=INTER_LINEAR"},
                 Slope())
        .size();
  };
  EXPECT_EQ(size("longest"), cv::Size(100, 83));
  EXPECT_EQ(size("shortest"), cv::Size(120, 100));
}

TEST(MakeOpTest, WarpsAboutTheCenter) {
  const std::vector<std::string> outside = {
      "interpolation=INTER_LINEAR", "border_mode=BORDER_CONSTANT", "fill=0"};
  const auto with = [&](std::vector<std::string> params) {
    params.insert(params.end(), outside.begin(), outside.end());
    return params;
  };
  const cv::Mat square = Image(3, 3, 1, {0, 1, 0, 0, 5, 2, 0, 0, 0});
  const Bytes quarter = {0, 2, 0, 1, 5, 0, 0, 0, 0};  // counter-clockwise
  EXPECT_EQ(BytesOf(Apply("cv::getRotationMatrix2D+cv::warpAffine",
                          with({"angle=90"}), square)),
            quarter);
  EXPECT_EQ(BytesOf(Apply("cv::warpAffine", with({"rotate=90"}), square)),
            quarter);
  EXPECT_EQ(
      BytesOf(Apply("cv::warpAffine", with({"translate_px=(1,0)"}), square)),
      Bytes({0, 0, 1, 0, 0, 5, 0, 0, 0}));
  // What is above the center goes to the right.
  EXPECT_EQ(BytesOf(Apply("cv::warpAffine", with({"shear=(45,0)"}), square)),
            Bytes({0, 0, 1, 0, 5, 2, 0, 0, 0}));
  EXPECT_EQ(BytesOf(Apply("cv::warpPerspective",
                          with({"matrix=(1,0,1,0,1,0,0,0)"}), square)),
            Bytes({1, 0, 0, 5, 2, 0, 0, 0, 0}));
}

TEST(MakeOpTest, NoDistortionIsNoChange) {
  const std::vector<std::string> params = {
      "distort=0", "interpolation=INTER_LINEAR", "border_mode=BORDER_CONSTANT",
      "fill=0"};
  EXPECT_EQ(BytesOf(Apply("cv::remap", params, Slope())), BytesOf(Slope()));
}

TEST(MakeOpTest, FiltersKeepWhatIsFlat) {
  const cv::Mat flat(8, 8, CV_8UC3, cv::Scalar(10, 20, 30));
  const Bytes expected = BytesOf(flat);
  EXPECT_EQ(BytesOf(Apply("cv::blur", {"ksize=5"}, flat)), expected);
  EXPECT_EQ(
      BytesOf(Apply("cv::GaussianBlur", {"ksize=(5,5)", "sigma=2"}, flat)),
      expected);
  EXPECT_EQ(BytesOf(Apply("cv::medianBlur", {"ksize=5"}, flat)), expected);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(
        BytesOf(Apply("cv::filter2D",
                      {"ksize=(5,5)", "angle=U(0,360)", "direction=U(-1,1)"},
                      flat, "", seed)),
        expected);
  }
  EXPECT_EQ(BytesOf(Apply(
                "cv::filter2D+cv::addWeighted",
                {"kernel=(1,1,1,1,5,1,1,1,1)", "scale=13", "factor=2"}, flat)),
            expected);
}

TEST(MakeOpTest, SharpensByItsKernel) {
  cv::Mat dot(5, 5, CV_8U, cv::Scalar(100));
  dot.at<uint8_t>(2, 2) = 110;
  // (1 - 0.5) * 110 + 0.5 * (9 * 110 - 8 * 100) = 150.
  EXPECT_EQ(
      Apply("cv::filter2D", {"alpha=0.5", "lightness=1", "ksize=(3,3)"}, dot)
          .at<uint8_t>(2, 2),
      150);
  // Below the threshold nothing is added.
  EXPECT_EQ(
      BytesOf(Apply("cv::GaussianBlur+cv::addWeighted",
                    {"ksize=3", "sigma=0", "alpha=0.5", "threshold=10"}, dot)),
      BytesOf(dot));
  EXPECT_GT(Apply("cv::GaussianBlur+cv::addWeighted",
                  {"ksize=3", "sigma=0", "alpha=0.5", "threshold=1"}, dot)
                .at<uint8_t>(2, 2),
            110);
}

TEST(MakeOpTest, MapsValues) {
  const cv::Mat image = Image(1, 4, 1, {0, 100, 200, 255});
  EXPECT_THAT(BytesOf(Apply("cv::bitwise_not", {}, image)),
              ElementsAre(255, 155, 55, 0));
  EXPECT_THAT(BytesOf(Apply("cv::LUT", {"bits=4"}, image)),
              ElementsAre(0, 96, 192, 240));
  EXPECT_THAT(BytesOf(Apply("cv::LUT", {"threshold=128"}, image)),
              ElementsAre(0, 100, 55, 0));
  EXPECT_THAT(BytesOf(Apply("cv::LUT", {"gamma=2"}, image)),
              ElementsAre(0, 39, 157, 255));
  EXPECT_THAT(
      BytesOf(Apply("cv::Mat::convertTo", {"alpha=1.2", "beta=5"}, image)),
      ElementsAre(5, 125, 245, 255));
}

TEST(MakeOpTest, StretchesEachChannelByItself) {
  const cv::Mat image = Image(1, 3, 3, {10, 7, 0, 20, 7, 128, 30, 7, 255});
  EXPECT_THAT(BytesOf(Apply("cv::minMaxLoc+cv::LUT", {"cutoff=0"}, image)),
              ElementsAre(0, 7, 0, 128, 7, 128, 255, 7, 255));
}

TEST(MakeOpTest, WorksOnWholeChannels) {
  const cv::Mat pixel = Image(1, 1, 3, {10, 20, 250});
  EXPECT_THAT(BytesOf(Apply("cv::mixChannels", {"order=(2,0,1)"}, pixel)),
              ElementsAre(250, 10, 20));
  EXPECT_THAT(
      BytesOf(Apply("cv::insertChannel", {"channel=1", "fill=0"}, pixel)),
      ElementsAre(10, 0, 250));
  EXPECT_THAT(BytesOf(Apply("cv::add",
                            {"r_shift=-20", "g_shift=5", "b_shift=10"}, pixel)),
              ElementsAre(0, 25, 255));
  std::set<Bytes> dropped;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    dropped.insert(BytesOf(
        Apply("cv::insertChannel", {"channels=1", "fill=0"}, pixel, "", seed)));
  }
  EXPECT_THAT(dropped, ElementsAre(Bytes{0, 20, 250}, Bytes{10, 0, 250},
                                   Bytes{10, 20, 0}));
}

TEST(MakeOpTest, Colors) {
  const cv::Mat red = Image(1, 1, 3, {200, 0, 0});
  EXPECT_THAT(
      BytesOf(Apply("cv::cvtColor",
                    {"code=COLOR_RGB2GRAY", "back=COLOR_GRAY2RGB"}, red)),
      ElementsAre(60, 60, 60));
  // 120 degrees.
  EXPECT_THAT(BytesOf(Apply("cv::cvtColor+cv::LUT", {"hue_shift=60"}, red)),
              ElementsAre(0, 200, 0));
  EXPECT_THAT(BytesOf(Apply("cv::cvtColor+cv::LUT", {"hue_shift=-120"}, red)),
              ElementsAre(0, 200, 0));
  EXPECT_THAT(BytesOf(Apply("cv::cvtColor+cv::add", {"sat_shift=-255"}, red)),
              ElementsAre(200, 200, 200));
}

TEST(MakeOpTest, JittersStepByStep) {
  const std::string op = "cv::LUT+cv::cvtColor+cv::addWeighted";
  const cv::Mat image = Image(1, 2, 3, {100, 100, 100, 200, 200, 200});
  EXPECT_THAT(BytesOf(Apply(op, {}, image)),
              ElementsAre(100, 100, 100, 200, 200, 200));
  EXPECT_THAT(BytesOf(Apply(op, {"brightness=0.5"}, image)),
              ElementsAre(50, 50, 50, 100, 100, 100));
  EXPECT_THAT(BytesOf(Apply(op, {"contrast=1.5"}, image)),
              ElementsAre(75, 75, 75, 225, 225, 225));
  EXPECT_THAT(BytesOf(Apply(op, {"saturation=2", "hue=0.5"}, image)),
              ElementsAre(100, 100, 100, 200, 200, 200));
  EXPECT_THAT(BytesOf(Apply(op, {"hue=0.5"}, Image(1, 1, 3, {200, 0, 0}))),
              ElementsAre(0, 200, 200));
  // The order matters: half first leaves the mean at 75.
  EXPECT_THAT(BytesOf(Apply(op, {"brightness=0.5", "contrast=2"}, image)),
              ElementsAre(25, 25, 25, 125, 125, 125));
}

TEST(MakeOpTest, NoiseHasItsDeviation) {
  const cv::Mat gray = Uniform(200, 200, 9, 128);
  cv::theRNG().state = 1;
  const cv::Mat out = Apply("cv::randn+cv::add", {"mean=0", "std=20"}, gray);
  cv::Scalar mean, deviation;
  cv::meanStdDev(Flat(out), mean, deviation);
  EXPECT_NEAR(mean[0], 128, 0.5);
  EXPECT_NEAR(deviation[0], 20, 0.5);
}

TEST(MakeOpTest, SaltAndPepperTakeTheirShares) {
  const cv::Mat gray(200, 200, CV_8UC3, cv::Scalar::all(128));
  cv::theRNG().state = 1;
  const cv::Mat out = Apply("cv::randu+cv::Mat::setTo",
                            {"amount=0.1", "salt_vs_pepper=0.25"}, gray);
  int white = 0, black = 0;
  for (int i = 0; i < 200 * 200; ++i) {
    const cv::Vec3b pixel = out.at<cv::Vec3b>(i / 200, i % 200);
    EXPECT_TRUE(pixel[0] == pixel[1] && pixel[1] == pixel[2]);
    white += pixel[0] == 255;
    black += pixel[0] == 0;
  }
  EXPECT_NEAR(white, 1000, 150);
  EXPECT_NEAR(black, 3000, 250);
}

TEST(MakeOpTest, ErasesARectangle) {
  const cv::Mat out = Apply("cv::Mat(Rect)::setTo",
                            {"rect=(1,2,2,3)", "fill=0"}, Uniform(4, 8, 9, 1));
  int zeros = 0;
  for (int byte : BytesOf(out)) zeros += byte == 0;
  EXPECT_EQ(zeros, 2 * 3 * 9);
  EXPECT_EQ(out.ptr<uint8_t>(1)[2 * 9 + 8], 0);
  EXPECT_EQ(out.ptr<uint8_t>(2)[4 * 9], 0);
}

TEST(MakeOpTest, LightFalls) {
  const cv::Mat gray(11, 11, CV_8UC3, cv::Scalar::all(100));
  const auto at = [](const cv::Mat& image, int y, int x) {
    return static_cast<int>(image.at<cv::Vec3b>(y, x)[2]);
  };
  cv::Mat out =
      Apply("cv::multiply", {"intensity=0.2", "angle=90", "sign=1"}, gray);
  EXPECT_EQ(at(out, 0, 3), 100);
  EXPECT_EQ(at(out, 5, 3), 110);
  EXPECT_EQ(at(out, 10, 3), 120);
  out = Apply("cv::multiply", {"intensity=0.2", "angle=180", "sign=-1"}, gray);
  EXPECT_EQ(at(out, 3, 0), 80);
  EXPECT_EQ(at(out, 3, 10), 100);
  out = Apply("cv::multiply", {"intensity=0.2", "corner=bottom_left", "sign=1"},
              gray);
  EXPECT_EQ(at(out, 10, 0), 120);
  EXPECT_EQ(at(out, 0, 10), 100);
  out = Apply("cv::multiply",
              {"intensity=0.2", "center=(0.5,0.5)", "sigma=0.1", "sign=1"},
              cv::Mat(10, 10, CV_8UC3, cv::Scalar::all(100)));
  EXPECT_EQ(at(out, 5, 5), 120);
  EXPECT_EQ(at(out, 0, 0), 100);
  out = Apply("cv::Mat(ramp)+cv::add", {"ramp=0.2", "side=left"}, gray);
  EXPECT_EQ(at(out, 4, 0), 151);
  EXPECT_EQ(at(out, 4, 10), 100);
  EXPECT_THAT(BytesOf(Apply("cv::multiply", {"factors=(2,1,0.5)"},
                            Image(1, 1, 3, {200, 100, 100}))),
              ElementsAre(255, 100, 50));
}

TEST(MakeOpTest, ChunksOfNineChannelsShareTheirDraws) {
  const cv::Mat image = Slope(9);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const cv::Mat out = Apply("cv::rotate", {"times=uniform(0,3)"}, image,
                              "per 3-channel chunk, concat", seed);
    ASSERT_EQ(out.channels(), 9);
    const Bytes bytes = BytesOf(out);
    for (size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ(bytes[i], bytes[i / 9 * 9]);
    }
  }
}

}  // namespace
}  // namespace feedrate
