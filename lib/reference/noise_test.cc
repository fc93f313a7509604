#include "lib/reference/noise.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Every byte value, many times.
Pixels AllValues() {
  Pixels image(128, 256, 3);
  for (size_t i = 0; i < image.values.size(); ++i) image.values[i] = i % 256;
  return image;
}

Pixels WithNoise(const Pixels& image, double std, bool saturate) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, std);
  return MapValues(image, [&](double v) {
    return saturate ? AsByte(v + noise(random)) : v + noise(random);
  });
}

TEST(NoiseTest, WeakNoiseInTheMiddleIsNotSaturated) {
  const Moments moments = SaturatedNoise(128, 5);
  EXPECT_NEAR(moments.mean, 128, 1e-9);
  EXPECT_NEAR(moments.variance, 25, 1e-9);
}

TEST(NoiseTest, HalfOfTheNoiseAtZeroIsLost) {
  // Half is 0, the rest half a normal distribution: its mean is std/sqrt(2 pi),
  // its square half of std^2.
  const Moments moments = SaturatedNoise(0, 10);
  const double mean = 10 / std::sqrt(2 * std::acos(-1.0));
  EXPECT_NEAR(moments.mean, mean, 1e-9);
  EXPECT_NEAR(moments.variance, 50 - mean * mean, 1e-9);
}

TEST(NoiseTest, BlackAndWhiteAreAlike) {
  EXPECT_NEAR(SaturatedNoise(0, 100).mean, 255 - SaturatedNoise(255, 100).mean,
              1e-9);
  EXPECT_NEAR(SaturatedNoise(0, 100).variance,
              SaturatedNoise(255, 100).variance, 1e-6);
}

TEST(NoiseTest, KnowsItsOwnNoise) {
  for (double std : {3., 25., 112.2}) {
    EXPECT_THAT(
        NotGaussianNoise(AllValues(), WithNoise(AllValues(), std, true), std),
        IsEmpty())
        << std;
  }
}

TEST(NoiseTest, TellsOtherNoise) {
  const Pixels image = AllValues();
  EXPECT_THAT(NotGaussianNoise(image, WithNoise(image, 22, true), 25),
              HasSubstr("variance"));
  EXPECT_THAT(NotGaussianNoise(image, WithNoise(image, 112.2, false), 112.2),
              HasSubstr("not saturated"));
  EXPECT_THAT(NotGaussianNoise(image, image, 25), HasSubstr("variance"));
  const Pixels brighter = MapValues(WithNoise(image, 25, true),
                                    [](double v) { return Saturate(v + 4); });
  EXPECT_THAT(NotGaussianNoise(image, brighter, 25), HasSubstr("mean"));
}

Pixels Peppered(const Pixels& image, double amount, double salt) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> draw(0, 1);
  Pixels result = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      if (draw(random) >= amount) continue;
      const double value = draw(random) < salt ? 255 : 0;
      for (int c = 0; c < image.channels; ++c) result.at(y, x, c) = value;
    }
  }
  return result;
}

TEST(NoiseTest, SaltAndPepper) {
  const Pixels image = AllValues();
  const SaltAndPepper parts = {0.01, 0.06, 0.4, 0.6};
  for (double amount : {0.01, 0.03, 0.06}) {
    EXPECT_THAT(NotSaltAndPepper(image, Peppered(image, amount, 0.5), parts),
                IsEmpty());
  }
  EXPECT_THAT(NotSaltAndPepper(image, Peppered(image, 0.1, 0.5), parts),
              HasSubstr("pixels changed"));
  EXPECT_THAT(NotSaltAndPepper(image, Peppered(image, 0.05, 0.9), parts),
              HasSubstr("white"));
  EXPECT_THAT(NotSaltAndPepper(image, WithNoise(image, 3, true), parts),
              HasSubstr("neither"));
  EXPECT_THAT(NotSaltAndPepper(image, image, parts),
              HasSubstr("0.0000 of the pixels"));
}

}  // namespace
}  // namespace feedrate
