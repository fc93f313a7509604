#include "lib/adapters/cuda/colour_math.h"

#include <gtest/gtest.h>

#include <random>

#include "lib/reference/color.h"
#include "lib/reference/pixels.h"

namespace feedrate::fused {
namespace {

Pixels RandomPixels() {
  std::mt19937 random(7);
  Pixels image(20, 30, 3);
  for (double& value : image.values) value = random() % 256;
  // Greys and ties between channels, where hue has its corners.
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

TEST(ColourMathTest, EachStepIsTheReference) {
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

TEST(ColourMathTest, StepsRunInTheirOrder) {
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

TEST(ColourMathTest, NoStepsChangeNothing) {
  const Pixels image = RandomPixels();
  ExpectSame(Jitter(), image, image);
  EXPECT_FALSE(HasContrast(Jitter()));
  Jitter last;
  last.steps = StepsOf(kHue, kBrightness, kSaturation, kContrast);
  EXPECT_TRUE(HasContrast(last));
}

TEST(ColourMathTest, SaturationOfNothingIsGrayscale) {
  const Pixels image = RandomPixels();
  Jitter grey;
  grey.saturation = 0;
  grey.steps = kSaturation;
  ExpectSame(grey, image, Grayscale(image));
}

}  // namespace
}  // namespace feedrate::fused
