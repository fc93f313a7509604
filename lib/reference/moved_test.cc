#include "lib/reference/moved.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"
#include "lib/reference/rearrange.h"

namespace feedrate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// No two places look alike.
Pixels Uneven(int height, int width, int channels = 3) {
  Pixels image(height, width, channels);
  unsigned state = 1;
  for (double& value : image.values) {
    state = state * 1664525 + 1013904223;
    value = 1 + (state >> 24) % 254;
  }
  return image;
}

TEST(MovedTest, WindowsAreFoundAnywhere) {
  const Pixels image = Uneven(20, 30);
  EXPECT_THAT(NotAWindow(image, Crop(image, 12, 0, 8, 9), 8, 9), IsEmpty());
  EXPECT_THAT(NotAWindow(image, Crop(image, 3, 21, 8, 9), 8, 9), IsEmpty());
}

TEST(MovedTest, WindowsOfSmallImagesHaveZeros) {
  const Pixels image = Uneven(5, 30);
  EXPECT_THAT(NotAWindow(image, Crop(image, -1, 4, 8, 9), 8, 9), IsEmpty());
}

TEST(MovedTest, OneOtherValueIsNoWindow) {
  const Pixels image = Uneven(20, 30);
  Pixels window = Crop(image, 3, 4, 8, 9);
  window.at(7, 8, 2) += 1;
  EXPECT_THAT(NotAWindow(image, window, 8, 9), HasSubstr("no window"));
  EXPECT_THAT(NotAWindow(image, window, 9, 9), HasSubstr("size is 9x8"));
}

TEST(MovedTest, Channels) {
  const Pixels image = Uneven(4, 5);
  EXPECT_THAT(NotPermutedChannels(image, OrderChannels(image, {1, 2, 0})),
              IsEmpty());
  EXPECT_THAT(NotPermutedChannels(image, OrderChannels(image, {1, 1, 0})),
              HasSubstr("channel 1"));
  EXPECT_THAT(NotPermutedChannels(image, OrderChannels(image, {1, 0})),
              HasSubstr("size"));
}

TEST(MovedTest, EqualChannelsMayBeUsedInTurn) {
  const Pixels twice = OrderChannels(Uneven(4, 5), {0, 1, 0});
  EXPECT_THAT(NotPermutedChannels(twice, OrderChannels(twice, {1, 2, 0})),
              IsEmpty());
}

TEST(MovedTest, Rectangles) {
  const Pixels image = Uneven(20, 20);
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
  const Pixels image = Uneven(64, 64);
  // Halves change places: 2x2 tiles.
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
  const Pixels image = Uneven(64, 64);
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

}  // namespace
}  // namespace feedrate
