#include "lib/loader/sample/sample_maker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/base/files.h"
#include "lib/loader/sample/fused_planes.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image.h"
#include "lib/media/image_file.h"

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
  recipe.position = CropPosition::kCenter;
  // Values are unchanged.
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

// Values of a sample by channel, row and column, whatever the format.
std::vector<float> Planes(Recipe recipe, SampleFormat format,
                          const Image& image, uint64_t seed) {
  recipe.format = format;
  auto maker = *SampleMaker::Create(recipe);
  const SampleShape& shape = maker->shape();
  std::vector<char> out(shape.bytes() + 1, 77);
  SampleTimes times;
  EXPECT_TRUE(maker->FromPixels(View(image), seed, out.data(), &times).ok());
  EXPECT_EQ(out.back(), 77);
  std::vector<float> planes;
  for (int c = 0; c < shape.channels; ++c) {
    for (int y = 0; y < shape.height; ++y) {
      for (int x = 0; x < shape.width; ++x) {
        const int64_t at = shape.is_planes()
                               ? (c * shape.height + y) * shape.width + x
                               : (y * shape.width + x) * shape.channels + c;
        float value = static_cast<uint8_t>(out[at]);
        if (shape.is_float()) std::memcpy(&value, &out[at * 4], 4);
        planes.push_back(value);
      }
    }
  }
  return planes;
}

TEST(SampleMakerTest, FormatsHaveTheSameValues) {
  for (const int crop : {5, 16, 37, 300}) {
    for (const int channels : {3, 9, 4}) {
      Recipe recipe = Plain(crop);
      recipe.channels = channels;
      TransformSpec flip;
      flip.native_op = "cv::flip";
      flip.params = {"flip_code=1"};
      recipe.steps = {{{flip}, 0.5}};
      const Image image = TestImage(crop + 4, crop + 9, 1, channels / 3 * 3);
      const Image four = TestImage(crop + 4, crop + 9, 1, 4);
      const Image& from = channels == 4 ? four : image;
      for (uint64_t seed = 0; seed < 4; ++seed) {
        const auto want =
            Planes(recipe, SampleFormat::kFloatPlanes, from, seed);
        EXPECT_EQ(Planes(recipe, SampleFormat::kBytePlanes, from, seed), want);
        EXPECT_EQ(Planes(recipe, SampleFormat::kBytePixels, from, seed), want);
        recipe.mean = {0.4, 0.5, 0.6};
        recipe.std = {0.2, 0.3, 0.7};
        EXPECT_EQ(Planes(recipe, SampleFormat::kFloatPixels, from, seed),
                  Planes(recipe, SampleFormat::kFloatPlanes, from, seed));
        recipe.mean = Plain(1).mean;
        recipe.std = Plain(1).std;
      }
    }
  }
}

TEST(SampleMakerTest, FewerChannelsRepeatInEveryFormat) {
  Recipe recipe = Plain(20);
  recipe.channels = 9;
  const Image image = TestImage(24, 29, 1);
  const auto want = Planes(recipe, SampleFormat::kFloatPlanes, image, 0);
  for (const SampleFormat format :
       {SampleFormat::kFloatPixels, SampleFormat::kBytePlanes,
        SampleFormat::kBytePixels}) {
    EXPECT_EQ(Planes(recipe, format, image, 0), want);
  }
  recipe.channels = 18;
  recipe.format = SampleFormat::kFloatPixels;
  EXPECT_TRUE(absl::IsInvalidArgument(SampleMaker::Create(recipe).status()));
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
    // A following step that changes nothing keeps the flip from being fused.
    Recipe apart = fused;
    apart.steps.push_back(
        {{Spec("cv::Mat::convertTo", {"alpha=1", "beta=0"})}, 1});
    EXPECT_EQ(Make(fused, image), Make(apart, image)) << code;
    EXPECT_NE(Make(fused, image), Make(Plain(8), image)) << code;
  }
}

// As often, and for the same seeds, as a flip by OpenCV.
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
  // With a step the channels are repeated before it.
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
    ASSERT_TRUE(maker->FromBytes(file, "", seed, out.data(), &times).ok());
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
  EXPECT_THAT(message(recipe), HasSubstr("is not a crop"));
  const Image gray = TestImage(20, 30, 3, 2);
  auto maker = *SampleMaker::Create(Plain(8));
  std::vector<float> out(maker->shape().values());
  SampleTimes times;
  EXPECT_THAT(
      std::string(
          maker->FromPixels(View(gray), 0, out.data(), &times).message()),
      HasSubstr("has 2 channels"));
}

using ::testing::HasSubstr;

void ExpectWindow(const ImageView& image, const DecodeWindow& window,
                  const PixelView& pixels) {
  ASSERT_EQ(pixels.height, window.height);
  ASSERT_EQ(pixels.width, window.width);
  ASSERT_EQ(pixels.channels, image.channels);
  for (int y = 0; y < window.height; ++y) {
    const uint8_t* const want =
        image.row(window.y + y) + window.x * image.channels;
    const uint8_t* const got = pixels.data + y * pixels.stride;
    for (int x = 0; x < window.width * image.channels; ++x) {
      ASSERT_EQ(got[x], want[x]) << y << " " << x;
    }
  }
}

TEST(ItemDecoderTest, AWindowOfAJpegIsThatOfTheWhole) {
  ItemDecoder decoder;
  for (int number = 0; number < 3; ++number) {
    const std::string file = TestJpeg(40 + number, 50, number);
    const Image whole = *DecodeImage(file);
    const auto info = decoder.Open(file);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->height, 40 + number);
    const DecodeWindow window = {7, 5, 30, 20};
    const auto pixels = decoder.Decode(window);
    ASSERT_TRUE(pixels.ok()) << pixels.status();
    ExpectWindow(whole.view(), window, *pixels);
  }
}

// image_file_test compares the whole images with Pillow's.
TEST(ItemDecoderTest, GrayAndCmykBecomeRgb) {
  ItemDecoder decoder;
  for (const char* name :
       {"gray_1.png", "gray_8.png", "gray_alpha_16.png", "gray.jpg", "cmyk.jpg",
        "ycck.jpg", "cmyk_without_adobe.jpg"}) {
    SCOPED_TRACE(name);
    const std::string file =
        ReadFile(std::string("testdata/media/") + name).value();
    const auto info = decoder.Open(file);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->channels, 3);
    const DecodeWindow window = {3, 2, 8, 7};
    const auto pixels = decoder.Decode(window);
    ASSERT_TRUE(pixels.ok()) << pixels.status();
    ExpectWindow(DecodeImage(file)->view(), window, *pixels);
  }
}

TEST(ItemDecoderTest, ArraysAreNotDecoded) {
  const Image image = TestImage(20, 30, 1, 9);
  const std::string file = TestNpy(image);
  ItemDecoder decoder;
  const auto info = decoder.Open(file);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->channels, 9);
  const DecodeWindow window = {3, 4, 10, 12};
  const auto pixels = decoder.Decode(window);
  ASSERT_TRUE(pixels.ok()) << pixels.status();
  ExpectWindow(image.view(), window, *pixels);
  EXPECT_GE(reinterpret_cast<const char*>(pixels->data), file.data());
  EXPECT_LT(reinterpret_cast<const char*>(pixels->data),
            file.data() + file.size());
}

TEST(ItemDecoderTest, WritesToTheCallersMemory) {
  ItemDecoder decoder;
  const DecodeWindow window = {7, 5, 30, 20};
  const std::string jpeg = TestJpeg(40, 50, 1);
  for (const bool is_jpeg : {true, false}) {
    const std::string file = is_jpeg ? jpeg : TestNpy(TestImage(40, 50, 1));
    const Image whole = is_jpeg ? *DecodeImage(jpeg) : TestImage(40, 50, 1);
    ASSERT_TRUE(decoder.Open(file).ok());
    // One extra row, which must stay unchanged.
    std::vector<uint8_t> pixels(21 * 30 * 3, 77);
    const absl::Status decoded = decoder.DecodeInto(window, pixels.data());
    ASSERT_TRUE(decoded.ok()) << decoded;
    PixelView view;
    view.data = pixels.data();
    view.stride = 30 * 3;
    view.height = 20;
    view.width = 30;
    view.channels = 3;
    ExpectWindow(whole.view(), window, view);
    for (size_t i = 20 * 30 * 3; i < pixels.size(); ++i) {
      ASSERT_EQ(pixels[i], 77);
    }
  }
}

TEST(ItemDecoderTest, AShrunkWindowCoversTheSamePlace) {
  const std::string file = TestJpeg(64, 80, 2);
  ItemDecoder decoder;
  ASSERT_TRUE(decoder.Open(file).ok());
  const auto pixels = decoder.Decode({16, 8, 33, 40}, 2);
  ASSERT_TRUE(pixels.ok()) << pixels.status();
  EXPECT_EQ(pixels->width, 17);
  EXPECT_EQ(pixels->height, 20);
}

TEST(ItemDecoderTest, RefusesWhatIsNoItem) {
  ItemDecoder decoder;
  EXPECT_TRUE(absl::IsInvalidArgument(decoder.Open("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(decoder.Open("GIF89a").status()));
  const std::string flat = TestNpy(Image(1, 0, 3));
  EXPECT_THAT(std::string(decoder.Open(flat).status().message()),
              HasSubstr("(height, width, channels)"));
  std::string cut = TestJpeg(40, 50, 0);
  cut.resize(cut.size() / 2);
  const auto info = decoder.Open(cut);
  EXPECT_FALSE(info.ok() && decoder.Decode({0, 0, 50, 40}).ok());
  // And continues with the next.
  const std::string good = TestJpeg(40, 50, 0);
  ASSERT_TRUE(decoder.Open(good).ok());
  EXPECT_TRUE(decoder.Decode({0, 0, 50, 40}).ok());
}

constexpr int kHeight = 5, kWidth = 37;
const std::vector<double> kMean = {0.485, 0.456, 0.406};
const std::vector<double> kStd = {0.229, 0.224, 0.225};

std::vector<uint8_t> Bytes(int channels) {
  std::vector<uint8_t> bytes(kHeight * kWidth * channels);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = i * 37 % 256;
  return bytes;
}

// `y` and `x` of the input that must be at `y` and `x` of the output.
void Check(const std::vector<uint8_t>& bytes, const PixelView& image,
           int planes, bool mirror, bool upside_down) {
  const Normalization how = MakeNormalization(kMean, kStd, 255, planes);
  std::vector<float> out(kHeight * kWidth * planes);
  NormalizeToPlanes(image, mirror, how, out.data());
  for (int c = 0; c < planes; ++c) {
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const int from_y = upside_down ? kHeight - 1 - y : y;
        const int from_x = mirror ? kWidth - 1 - x : x;
        const int n = image.channels;
        const double value =
            bytes[(from_y * kWidth + from_x) * n + c % n] / 255.0;
        ASSERT_NEAR(out[(c * kHeight + y) * kWidth + x],
                    (value - kMean[c % 3]) / kStd[c % 3], 1e-5)
            << c << " " << y << " " << x;
      }
    }
  }
}

PixelView View(const std::vector<uint8_t>& bytes, int channels) {
  PixelView view;
  view.data = bytes.data();
  view.stride = kWidth * channels;
  view.height = kHeight;
  view.width = kWidth;
  view.channels = channels;
  return view;
}

TEST(NormalizeTest, ThreeChannels) {
  const std::vector<uint8_t> bytes = Bytes(3);
  Check(bytes, View(bytes, 3), 3, false, false);
  Check(bytes, View(bytes, 3), 3, true, false);
}

TEST(NormalizeTest, ANegativeStrideStandsOnItsHead) {
  const std::vector<uint8_t> bytes = Bytes(3);
  PixelView view = View(bytes, 3);
  view.data += (kHeight - 1) * view.stride;
  view.stride = -view.stride;
  Check(bytes, view, 3, true, true);
}

TEST(NormalizeTest, NineChannels) {
  const std::vector<uint8_t> nine = Bytes(9);
  Check(nine, View(nine, 9), 9, false, false);
  Check(nine, View(nine, 9), 9, true, false);
  const std::vector<uint8_t> three = Bytes(3);
  Check(three, View(three, 3), 9, true, false);
}

TEST(NormalizeTest, OneChannel) {
  const std::vector<uint8_t> bytes = Bytes(1);
  Check(bytes, View(bytes, 1), 3, false, false);
}

constexpr float kUntouched = -12345;

struct Case {
  int height = 3;
  int width = 1;
  int channels = 3;
  int gap = 0;        // Bytes between rows.
  int alignment = 0;  // Offset of the first byte and the first float.
  bool mirror = false;
  bool upside_down = false;
};

std::vector<float> Factors(int channels, float first) {
  std::vector<float> factors;
  for (int c = 0; c < channels; ++c) factors.push_back(first / (1.0f + c));
  return factors;
}

void ExpectAsInDoubles(const Case& c) {
  const size_t row = static_cast<size_t>(c.width) * c.channels;
  const size_t stride = row + c.gap;
  // Exact size, so that a sanitizer sees reads past the end.
  std::vector<uint8_t> pixels(c.alignment + stride * (c.height - 1) + row);
  std::mt19937 random(c.width * 31 + c.channels);
  for (uint8_t& value : pixels) value = static_cast<uint8_t>(random());
  const uint8_t* first = pixels.data() + c.alignment;
  const std::vector<float> scale = Factors(c.channels, 0.0171f);
  const std::vector<float> offset = Factors(c.channels, -2.1f);
  const size_t plane = static_cast<size_t>(c.height) * c.width;
  std::vector<float> out(c.alignment + plane * c.channels + 1, kUntouched);
  PlanesInput input = {first, static_cast<ptrdiff_t>(stride), c.height, c.width,
                       c.channels};
  if (c.upside_down) {
    input.data += stride * (c.height - 1);
    input.stride = -input.stride;
  }
  PixelsToPlanes(input, c.mirror, scale.data(), offset.data(),
                 out.data() + c.alignment);
  for (int i = 0; i < c.alignment; ++i) ASSERT_EQ(out[i], kUntouched);
  ASSERT_EQ(out.back(), kUntouched);
  for (int y = 0; y < c.height; ++y) {
    for (int x = 0; x < c.width; ++x) {
      for (int k = 0; k < c.channels; ++k) {
        const int from_y = c.upside_down ? c.height - 1 - y : y;
        const int from_x = c.mirror ? c.width - 1 - x : x;
        const double value = first[from_y * stride + from_x * c.channels + k];
        const double expected = value * scale[k] + offset[k];
        ASSERT_NEAR(out[c.alignment + k * plane + y * c.width + x], expected,
                    4e-7 * (1 + std::abs(value * scale[k])))
            << c.width << " wide, " << c.channels << " channels, " << x << ","
            << y << "," << k << " mirror " << c.mirror;
      }
    }
  }
}

TEST(FusedPlanesTest, EveryWidth) {
  for (int channels : {1, 2, 3, 4, 5, 9, 20}) {
    for (int width = 1; width < 150; ++width) {
      for (bool mirror : {false, true}) {
        ExpectAsInDoubles({2, width, channels, 0, 0, mirror});
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(FusedPlanesTest, PiecesOfNineChannels) {
  for (int width : {224, 255, 256, 257, 271, 512, 700}) {
    for (bool mirror : {false, true}) {
      ExpectAsInDoubles({2, width, 9, 0, 0, mirror});
      if (HasFatalFailure()) return;
    }
  }
}

TEST(FusedPlanesTest, AnyAlignmentAndStride) {
  for (int channels : {1, 3, 9}) {
    for (int alignment = 0; alignment < 17; ++alignment) {
      for (int gap : {0, 1, 7, 64}) {
        for (bool mirror : {false, true}) {
          ExpectAsInDoubles({3, 53, channels, gap, alignment, mirror});
          ExpectAsInDoubles({3, 53, channels, gap, alignment, mirror, true});
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// A value must not depend on its position in a row, or batches would depend on
// the processor's vector width.
TEST(FusedPlanesTest, TheSameValueGivesTheSameFloatAnywhere) {
  const float scale = 1 / (255 * 0.229f);
  const float offset = -0.485f / 0.229f;
  for (int value = 0; value < 256; ++value) {
    const std::vector<uint8_t> pixels(131, static_cast<uint8_t>(value));
    std::vector<float> out(131);
    PixelsToPlanes({pixels.data(), 131, 1, 131, 1}, false, &scale, &offset,
                   out.data());
    float alone = 0;
    PixelsToPlanes({pixels.data(), 1, 1, 1, 1}, true, &scale, &offset, &alone);
    for (float f : out) ASSERT_EQ(f, alone);
  }
}

}  // namespace
}  // namespace feedrate
