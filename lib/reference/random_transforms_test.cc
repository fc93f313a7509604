#include "lib/reference/random_transforms.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/geometry.h"
#include "lib/reference/testing.h"

namespace feedrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Pixels Uneven() {
  Pixels image(12, 10, 3);
  for (size_t i = 0; i < image.values.size(); ++i) {
    image.values[i] = (i * i * 31 + 7 * i) % 256;
  }
  return image;
}

TEST(DistributionTest, SaysWhatDoesNotFit) {
  const Reference window =
      Ref("some_window", DISTRIBUTION, {"height=5", "width=4"});
  const auto good = CheckDraw(window, Uneven(), Crop(Uneven(), 2, 3, 5, 4));
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_TRUE(good->possible);
  EXPECT_TRUE(good->exact);
  const auto bad = CheckDraw(window, Uneven(), Crop(Uneven(), 2, 3, 4, 5));
  EXPECT_FALSE(bad->possible);
  EXPECT_FALSE(bad->exact);
  EXPECT_EQ(bad->problem, "the size is 5x4");
}

TEST(DistributionTest, NoiseIsNeverExact) {
  Pixels image(64, 64, 3);
  for (double& value : image.values) value = 128;
  const Reference none =
      Ref("salt_and_pepper", DISTRIBUTION, {"amount=(0,0.5)", "salt=(0,1)"});
  const auto check = CheckDraw(none, image, image);
  ASSERT_TRUE(check.ok()) << check.status();
  EXPECT_TRUE(check->possible);
  EXPECT_FALSE(check->exact);
}

TEST(DistributionTest, WrongReferences) {
  for (const Reference& reference :
       {Ref("windows", DISTRIBUTION),
        Ref("some_window", DISTRIBUTION, {"height=5"}),
        Ref("gaussian_noise", DISTRIBUTION, {"std=0"}),
        Ref("gaussian_noise", DISTRIBUTION, {"std=-1"}),
        Ref("shuffle_tiles", DISTRIBUTION, {"rows=0", "columns=4"}),
        Ref("permute_channels", DISTRIBUTION, {"order=1"})}) {
    EXPECT_FALSE(CheckDraw(reference, Uneven(), Uneven()).ok())
        << reference.op();
  }
}

TEST(DistributionTest, Names) {
  EXPECT_THAT(DistributionOps(), Contains("erase_some_rectangle"));
}

// No two places look alike.
Pixels RandomBytes(int height, int width, int channels = 3) {
  Pixels image(height, width, channels);
  unsigned state = 1;
  for (double& value : image.values) {
    state = state * 1664525 + 1013904223;
    value = 1 + (state >> 24) % 254;
  }
  return image;
}

TEST(MovedTest, WindowsAreFoundAnywhere) {
  const Pixels image = RandomBytes(20, 30);
  EXPECT_THAT(NotAWindow(image, Crop(image, 12, 0, 8, 9), 8, 9), IsEmpty());
  EXPECT_THAT(NotAWindow(image, Crop(image, 3, 21, 8, 9), 8, 9), IsEmpty());
}

TEST(MovedTest, WindowsOfSmallImagesHaveZeros) {
  const Pixels image = RandomBytes(5, 30);
  EXPECT_THAT(NotAWindow(image, Crop(image, -1, 4, 8, 9), 8, 9), IsEmpty());
}

TEST(MovedTest, OneOtherValueIsNoWindow) {
  const Pixels image = RandomBytes(20, 30);
  Pixels window = Crop(image, 3, 4, 8, 9);
  window.at(7, 8, 2) += 1;
  EXPECT_THAT(NotAWindow(image, window, 8, 9), HasSubstr("not a window"));
  EXPECT_THAT(NotAWindow(image, window, 9, 9), HasSubstr("size is 9x8"));
}

TEST(MovedTest, Channels) {
  const Pixels image = RandomBytes(4, 5);
  EXPECT_THAT(NotPermutedChannels(image, OrderChannels(image, {1, 2, 0})),
              IsEmpty());
  EXPECT_THAT(NotPermutedChannels(image, OrderChannels(image, {1, 1, 0})),
              HasSubstr("channel 1"));
  EXPECT_THAT(NotPermutedChannels(image, OrderChannels(image, {1, 0})),
              HasSubstr("size"));
}

TEST(MovedTest, EqualChannelsMayBeUsedInTurn) {
  const Pixels twice = OrderChannels(RandomBytes(4, 5), {0, 1, 0});
  EXPECT_THAT(NotPermutedChannels(twice, OrderChannels(twice, {1, 2, 0})),
              IsEmpty());
}

TEST(MovedTest, Rectangles) {
  const Pixels image = RandomBytes(20, 20);
  Pixels erased = image;
  for (int y = 3; y < 11; ++y) {
    for (int x = 5; x < 10; ++x) {
      for (int c = 0; c < 3; ++c) erased.at(y, x, c) = 0;
    }
  }
  // 40 of 400 pixels.
  EXPECT_THAT(NotOneRectangle(image, erased, 0.1, 0.1), IsEmpty());
  EXPECT_THAT(NotOneRectangle(image, erased, 0.15, 0.3), HasSubstr("area"));
  EXPECT_THAT(NotOneRectangle(image, erased, 0.01, 0.05), HasSubstr("5x8"));
  erased.at(15, 15, 0) = 0;
  EXPECT_THAT(NotOneRectangle(image, erased, 0.1, 0.1), HasSubstr("more than"));
  EXPECT_THAT(NotOneRectangle(image, image, 0.1, 0.2), HasSubstr("0x0"));
}

TEST(MovedTest, ShuffledTiles) {
  const Pixels image = RandomBytes(64, 64);
  // Halves swap places: 2x2 tiles.
  Pixels output = image;
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 64; ++x) {
      for (int c = 0; c < 3; ++c) {
        output.at(y, x, c) = image.at((y + 32) % 64, (x + 32) % 64, c);
      }
    }
  }
  EXPECT_THAT(NotShuffledTiles(image, output, 2, 2), IsEmpty());
  EXPECT_THAT(NotShuffledTiles(image, FlipVertically(image), 2, 2),
              HasSubstr("tile 0"));
  EXPECT_THAT(NotShuffledTiles(image, output, 16, 16), HasSubstr("too small"));
}

TEST(MovedTest, TwoTilesCannotShareTheirSource) {
  const Pixels image = RandomBytes(64, 64);
  Pixels output = image;
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      for (int c = 0; c < 3; ++c) {
        output.at(y, x, c) = image.at(y, x + 32, c);
      }
    }
  }
  EXPECT_THAT(NotShuffledTiles(image, output, 2, 2), HasSubstr("tile 1"));
}

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
