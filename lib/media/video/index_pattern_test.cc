#include "lib/media/video/index_pattern.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "lib/media/image.h"

namespace feedrate {
namespace {

Image Drawn(int64_t number, int height, int width, int black, int white) {
  Image image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const std::optional<bool> square = PatternAt(number, width, x, y);
      const int value = square.has_value() ? (*square ? white : black) : 90;
      for (int c = 0; c < 3; ++c) {
        image.row(y)[3 * x + c] = static_cast<uint8_t>(value);
      }
    }
  }
  return image;
}

TEST(IndexPatternTest, EveryNumberIsReadAgain) {
  for (int64_t number = 0; number < kPatternNumbers; ++number) {
    EXPECT_EQ(ReadPattern(Drawn(number, 12, 161, 0, 255).view()), number);
  }
}

TEST(IndexPatternTest, CompressionMayGreyIt) {
  EXPECT_EQ(ReadPattern(Drawn(1234, 240, 320, 100, 160).view()), 1234);
}

TEST(IndexPatternTest, WhatIsNoPatternIsNoNumber) {
  EXPECT_EQ(ReadPattern(Drawn(5, 240, 320, 90, 90).view()), std::nullopt);
  EXPECT_EQ(ReadPattern(Drawn(5, 240, 60, 0, 255).view()), std::nullopt);
  EXPECT_EQ(ReadPattern(Drawn(5, 3, 320, 0, 255).view()), std::nullopt);
  // One square upside down is seen by the check sum or the frame around it.
  Image wrong = Drawn(77, 240, 320, 0, 255);
  for (int y = 0; y < 16; ++y) {
    for (int x = 5 * 16 * 3; x < 6 * 16 * 3; ++x) wrong.row(y)[x] ^= 255;
  }
  EXPECT_EQ(ReadPattern(wrong.view()), std::nullopt);
}

}  // namespace
}  // namespace feedrate
