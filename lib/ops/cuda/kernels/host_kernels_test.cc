#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "lib/ops/cuda/kernels/batch.h"
#include "lib/ops/cuda/kernels/color_math.h"
#include "lib/ops/cuda/kernels/warp_math.h"
#include "lib/reference/color.h"
#include "lib/reference/geometry.h"
#include "lib/reference/pixels.h"

namespace feedrate::fused {
namespace {

Pixels SmoothImage(int height, int width) {
  Pixels image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.at(y, x, c) =
            127 + 60 * std::sin(0.3 * x + c) + 60 * std::cos(0.2 * y - c);
      }
    }
  }
  return image;
}

double Tap(const Pixels& image, int y, int x, int c, Edge edge) {
  const int row = InsideOf(y, image.height, edge);
  const int column = InsideOf(x, image.width, edge);
  return row < 0 || column < 0 ? 0 : image.at(row, column, c);
}

// Like the kernels.
Pixels Warp(const Pixels& image, const Projection& projection, Edge edge,
            int height, int width) {
  Pixels result(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      Place place = ReadPlace(projection, x, y);
      place.x = NearImage(place.x, image.width, edge);
      place.y = NearImage(place.y, image.height, edge);
      const Corner at = CornerOf(place);
      for (int c = 0; c < 3; ++c) {
        const double above = (1 - at.right) * Tap(image, at.y, at.x, c, edge) +
                             at.right * Tap(image, at.y, at.x + 1, c, edge);
        const double below =
            (1 - at.right) * Tap(image, at.y + 1, at.x, c, edge) +
            at.right * Tap(image, at.y + 1, at.x + 1, c, edge);
        result.at(y, x, c) = (1 - at.below) * above + at.below * below;
      }
    }
  }
  return result;
}

void ExpectNear(const Pixels& actual, const Pixels& expected, double limit) {
  ASSERT_TRUE(actual.SameShape(expected));
  for (size_t i = 0; i < actual.values.size(); ++i) {
    ASSERT_NEAR(actual.values[i], expected.values[i], limit) << i;
  }
}

TEST(WarpMathTest, AffineIsTheReference) {
  const Pixels image = SmoothImage(61, 83);
  AffineMap map;
  map.degrees = 25;
  map.scale = 2;
  map.x = 20;
  map.y = -7;
  ExpectNear(Warp(image, AffineProjection(map, 61, 83), Edge::kZero, 61, 83),
             Affine(image, 25, 2, {20, -7}), 0.05);
}

TEST(WarpMathTest, ShearIsTheReference) {
  const Pixels image = SmoothImage(61, 83);
  AffineMap map;
  map.shear_x_degrees = 10;
  ExpectNear(Warp(image, AffineProjection(map, 61, 83), Edge::kZero, 61, 83),
             ShearX(image, 10), 0.05);
}

TEST(WarpMathTest, PerspectiveIsTheReference) {
  const Pixels image = SmoothImage(61, 83);
  const std::array<double, 8> h = {0.95, 0.05, 10, -0.03, 0.9, 15, 1e-4, -2e-4};
  Projection projection;
  for (int i = 0; i < 8; ++i) projection.h[i] = static_cast<float>(h[i]);
  ExpectNear(Warp(image, projection, Edge::kZero, 61, 83),
             Perspective(image, h), 0.05);
}

TEST(WarpMathTest, ResizeIsTheReference) {
  const Pixels image = SmoothImage(61, 83);
  for (const auto& to : {std::array<int, 2>{128, 128}, {20, 200}, {61, 83}}) {
    ExpectNear(Warp(image, ResizeProjection(61, 83, to[0], to[1]),
                    Edge::kReplicate, to[0], to[1]),
               Resize(image, to[0], to[1]), 0.05);
  }
}

TEST(WarpMathTest, CropsAndFlipsAreExact) {
  const Pixels image = SmoothImage(61, 83);
  ExpectNear(
      Warp(image, CropProjection(-3, 70, 20, false), Edge::kZero, 30, 20),
      Crop(image, -3, 70, 30, 20), 0);
  ExpectNear(Warp(image, CropProjection(5, 7, 20, true), Edge::kZero, 30, 20),
             FlipHorizontally(Crop(image, 5, 7, 30, 20)), 0);
}

TEST(WarpMathTest, EdgesAreWhatTheySay) {
  EXPECT_EQ(InsideOf(2, 4, Edge::kZero), 2);
  EXPECT_EQ(InsideOf(-1, 4, Edge::kZero), -1);
  EXPECT_EQ(InsideOf(4, 4, Edge::kZero), -1);
  EXPECT_EQ(InsideOf(-2, 4, Edge::kReplicate), 0);
  EXPECT_EQ(InsideOf(9, 4, Edge::kReplicate), 3);
  EXPECT_EQ(InsideOf(-2, 4, Edge::kReflect), 2);
  EXPECT_EQ(InsideOf(5, 4, Edge::kReflect), 1);
  EXPECT_EQ(InsideOf(-1, 1, Edge::kReflect), 0);
  EXPECT_EQ(InsideOf(-9, 4, Edge::kReflect), 0);
}

TEST(WarpMathTest, NowhereIsFarAway) {
  Projection projection;
  projection.h[6] = -0.5f;  // The horizon runs through x = 2.
  const Place place = ReadPlace(projection, 2, 3);
  EXPECT_TRUE(std::isfinite(place.x));
  EXPECT_TRUE(std::isfinite(place.y));
  EXPECT_TRUE(std::isfinite(ReadPlace(projection, 2, 0).y));
}

TEST(WarpMathTest, WhatOnlyMovesReadsThePixelsThatTheMapSays) {
  Projection down = CropProjection(0, 0, 50, false);
  down.h[4] = -1;
  down.h[5] = 39;
  for (const Projection& p :
       {CropProjection(3, 7, 50, false), CropProjection(-10, -10, 50, false),
        CropProjection(2, 5, 50, true), down}) {
    Move move;
    ASSERT_TRUE(OnlyMoves(p, &move));
    for (int y = 0; y < 40; y += 3) {
      for (int x = 0; x < 50; ++x) {
        const Corner corner = CornerOf(ReadPlace(p, x, y));
        EXPECT_EQ(corner.right, 0);
        EXPECT_EQ(corner.below, 0);
        EXPECT_EQ(corner.x, move.flip_x ? move.x - x : move.x + x);
        EXPECT_EQ(corner.y, move.flip_y ? move.y - y : move.y + y);
      }
    }
  }
}

TEST(WarpMathTest, OtherMapsDoMore) {
  Move move;
  AffineMap turn;
  turn.degrees = 30;
  EXPECT_FALSE(OnlyMoves(AffineProjection(turn, 40, 50), &move));
  EXPECT_FALSE(OnlyMoves(ResizeProjection(40, 50, 80, 100), &move));
  Projection half;
  half.h[2] = 0.5f;
  EXPECT_FALSE(OnlyMoves(half, &move));
  Projection transposed;
  transposed.h[0] = transposed.h[4] = 0;
  transposed.h[1] = transposed.h[3] = 1;
  EXPECT_FALSE(OnlyMoves(transposed, &move));
  Projection nowhere;
  nowhere.h[2] = NAN;
  EXPECT_FALSE(OnlyMoves(nowhere, &move));
}

// Weights of Pillow's precompute_coeffs, in doubles.
std::vector<double> PillowWeights(int i, int from, int to, int* first) {
  const double scale = static_cast<double>(from) / to;
  const double filter = scale < 1 ? 1 : scale;
  const double center = (i + 0.5) * scale;
  *first = static_cast<int>(center - filter + 0.5);
  if (*first < 0) *first = 0;
  int last = static_cast<int>(center + filter + 0.5);
  if (last > from) last = from;
  std::vector<double> weights;
  double sum = 0;
  for (int x = *first; x < last; ++x) {
    const double at = (x - center + 0.5) / filter;
    const double weight = at < 0 ? 1 + at : 1 - at;
    weights.push_back(weight > 0 ? weight : 0);
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

void ExpectPillow(int from, int to) {
  const float step = static_cast<float>(from) / static_cast<float>(to);
  for (int i = 0; i < to; ++i) {
    int first = 0;
    const std::vector<double> expected = PillowWeights(i, from, to, &first);
    const Taps taps = AntialiasTaps(i, step, from);
    const float sum = TapSum(taps);
    // Rounding may add or omit a pixel with negligible weight.
    for (int x = 0; x < from; ++x) {
      const int k = x - first;
      const double weight =
          k >= 0 && k < static_cast<int>(expected.size()) ? expected[k] : 0;
      const int own = x - taps.first;
      const double ours =
          own >= 0 && own < taps.count ? TapWeight(taps, own) / sum : 0;
      // Floats near 500 are 3e-5 apart.
      ASSERT_NEAR(ours, weight, 1e-4) << from << " to " << to << ", " << i;
    }
  }
}

TEST(TapsTest, WeighAsPillowDoes) {
  ExpectPillow(500, 224);
  ExpectPillow(375, 224);
  ExpectPillow(100, 224);
  ExpectPillow(224, 224);
  ExpectPillow(4000, 7);
  ExpectPillow(1, 5);
}

TEST(TapsTest, StayInsideTheLine) {
  for (int size = 1; size < 70; ++size) {
    for (int to = 1; to < 40; ++to) {
      const float step = static_cast<float>(size) / static_cast<float>(to);
      for (int i = 0; i < to; ++i) {
        const Taps taps = AntialiasTaps(i, step, size);
        ASSERT_GE(taps.first, 0);
        ASSERT_GE(taps.count, 1);
        ASSERT_LE(taps.first + taps.count, size);
        ASSERT_GT(TapSum(taps), 0);
      }
    }
  }
}

TEST(TapsTest, EdgesOfBothLinesMeet) {
  EXPECT_FLOAT_EQ(ResizedFrom(0, 2), 0.5f);
  EXPECT_FLOAT_EQ(ResizedFrom(0, 0.5f), -0.25f);
  EXPECT_FLOAT_EQ(ResizedFrom(3, 1), 3);
}

Pixels RandomPixels() {
  std::mt19937 random(7);
  Pixels image(20, 30, 3);
  for (double& value : image.values) value = random() % 256;
  // Grays and equal channels, where hue is discontinuous.
  for (int x = 0; x < 30; ++x) {
    for (int c = 0; c < 3; ++c) image.at(0, x, c) = x * 8;
    image.at(1, x, 1) = image.at(1, x, 0);
    image.at(2, x, 2) = image.at(2, x, 1);
  }
  return image;
}

Rgb At(const Pixels& image, int y, int x) {
  return {static_cast<float>(image.at(y, x, 0) / 255),
          static_cast<float>(image.at(y, x, 1) / 255),
          static_cast<float>(image.at(y, x, 2) / 255)};
}

float MeanBefore(const Pixels& image, const Jitter& jitter) {
  double sum = 0;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      sum += LumaOf(BeforeContrast(jitter, At(image, y, x)));
    }
  }
  return static_cast<float>(sum / image.height / image.width);
}

void ExpectSame(const Jitter& jitter, const Pixels& image,
                const Pixels& expected) {
  const float mean = MeanBefore(image, jitter);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const Rgb c = Jittered(jitter, At(image, y, x), mean);
      ASSERT_NEAR(255 * c.r, expected.at(y, x, 0), 2e-3) << y << " " << x;
      ASSERT_NEAR(255 * c.g, expected.at(y, x, 1), 2e-3) << y << " " << x;
      ASSERT_NEAR(255 * c.b, expected.at(y, x, 2), 2e-3) << y << " " << x;
    }
  }
}

TEST(ColorMathTest, EachStepIsTheReference) {
  const Pixels image = RandomPixels();
  Jitter jitter;
  jitter.brightness = 1.3f;
  jitter.contrast = 1.4f;
  jitter.saturation = 1.5f;
  jitter.hue = 0.1f;
  jitter.steps = kBrightness;
  ExpectSame(jitter, image, Multiply(image, jitter.brightness));
  jitter.steps = kContrast;
  ExpectSame(jitter, image, AdjustContrast(image, jitter.contrast));
  jitter.steps = kSaturation;
  ExpectSame(jitter, image, AdjustSaturation(image, jitter.saturation));
  for (float turns : {0.1f, -0.3f, 0.5f, -0.5f}) {
    jitter.hue = turns;
    jitter.steps = kHue;
    ExpectSame(jitter, image, ShiftHue(image, turns));
  }
}

TEST(ColorMathTest, StepsRunInTheirOrder) {
  const Pixels image = RandomPixels();
  Jitter jitter;
  jitter.brightness = 0.7f;
  jitter.contrast = 1.4f;
  jitter.saturation = 1.5f;
  jitter.hue = -0.08f;
  jitter.steps = StepsOf(kHue, kBrightness, kContrast, kSaturation);
  ExpectSame(
      jitter, image,
      AdjustSaturation(AdjustContrast(Multiply(ShiftHue(image, jitter.hue),
                                               jitter.brightness),
                                      jitter.contrast),
                       jitter.saturation));
  jitter.steps = StepsOf(kContrast, kSaturation, kHue, kBrightness);
  ExpectSame(
      jitter, image,
      Multiply(ShiftHue(AdjustSaturation(AdjustContrast(image, jitter.contrast),
                                         jitter.saturation),
                        jitter.hue),
               jitter.brightness));
}

TEST(ColorMathTest, NoStepsChangeNothing) {
  const Pixels image = RandomPixels();
  ExpectSame(Jitter(), image, image);
  EXPECT_FALSE(HasContrast(Jitter()));
  Jitter last;
  last.steps = StepsOf(kHue, kBrightness, kSaturation, kContrast);
  EXPECT_TRUE(HasContrast(last));
}

TEST(ColorMathTest, SaturationOfNothingIsGrayscale) {
  const Pixels image = RandomPixels();
  Jitter gray;
  gray.saturation = 0;
  gray.steps = kSaturation;
  ExpectSame(gray, image, Grayscale(image));
}

Pixels AllValues() {
  Pixels image(1, 256, 1);
  for (int v = 0; v < 256; ++v) image.at(0, v, 0) = v;
  return image;
}

void ExpectTone(Tone tone, float amount, const Pixels& expected) {
  for (int v = 0; v < 256; ++v) {
    EXPECT_EQ(ToneOf(static_cast<uint8_t>(v), tone, amount),
              AsByte(expected.at(0, v, 0)))
        << v;
  }
}

TEST(ToneMathTest, TonesAreTheReference) {
  const Pixels image = AllValues();
  ExpectTone(Tone::kInvert, 0, Invert(image));
  for (int bits = 1; bits <= 8; ++bits) {
    ExpectTone(Tone::kPosterize, static_cast<float>(bits),
               Posterize(image, bits));
  }
  ExpectTone(Tone::kSolarize, 128, Solarize(image, 128));
  ExpectTone(Tone::kSolarize, 99.5f, Solarize(image, 99.5));
  ExpectTone(Tone::kMultiply, 1.25f, Multiply(image, 1.25));
}

TEST(ToneMathTest, BytesRoundHalvesToEven) {
  EXPECT_EQ(ToByte(0.5f), 0);
  EXPECT_EQ(ToByte(1.5f), 2);
  EXPECT_EQ(ToByte(2.5f), 2);
  EXPECT_EQ(ToByte(-3), 0);
  EXPECT_EQ(ToByte(300), 255);
  EXPECT_EQ(ToByte(254.6f), 255);
}

// The table of a histogram, computed like the kernel.
std::array<int, 256> TableOf(const std::array<uint32_t, 256>& counts) {
  int greatest = 255;
  while (counts[greatest] == 0) --greatest;
  uint32_t pixels = 0;
  for (uint32_t count : counts) pixels += count;
  const uint32_t step = EqualizeStep(pixels, counts[greatest]);
  std::array<int, 256> table;
  uint32_t below = 0;
  for (int v = 0; v < 256; ++v) {
    table[v] = step == 0 ? v : EqualizedValue(below, step);
    below += counts[v];
  }
  return table;
}

TEST(ToneMathTest, EqualizeIsTheReference) {
  std::mt19937 random(3);
  for (const int range : {256, 100, 3, 1}) {
    Pixels image(70, 90, 1);
    std::array<uint32_t, 256> counts = {};
    for (double& value : image.values) {
      value = 20 + random() % range % 230;
      ++counts[static_cast<int>(value)];
    }
    const std::array<int, 256> table = TableOf(counts);
    const Pixels expected = EqualizeHistogram(image);
    for (size_t i = 0; i < image.values.size(); ++i) {
      ASSERT_EQ(table[static_cast<int>(image.values[i])], expected.values[i]);
    }
  }
}

TEST(MixTest, PixelsOfTheBoxAreThePartners) {
  Mix mix;
  mix.own = 0.25f;
  EXPECT_FLOAT_EQ(OwnPart(mix, 0, 0), 0.25f);
  mix.box = {2, 3, 4, 5};
  EXPECT_FLOAT_EQ(OwnPart(mix, 2, 3), 0);
  EXPECT_FLOAT_EQ(OwnPart(mix, 5, 7), 0);
  EXPECT_FLOAT_EQ(OwnPart(mix, 6, 7), 0.25f);
  EXPECT_FLOAT_EQ(OwnPart(mix, 5, 8), 0.25f);
  EXPECT_FLOAT_EQ(OwnPart(mix, 1, 3), 0.25f);
}

}  // namespace
}  // namespace feedrate::fused
