#include "lib/reference/clahe.h"

#include "gtest/gtest.h"
#include "lib/reference/lab.h"
#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

// Greys in two halves.
Pixels Halves(int height, int width, double left, double right) {
  Pixels image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.at(y, x, c) = x < width / 2 ? left : right;
      }
    }
  }
  return image;
}

double LightnessAt(const Pixels& image, int y, int x) {
  return RgbToLab(image).at(y, x, 0) * 2.55;
}

TEST(ClaheTest, OneTileWithoutALimitIsPlainEqualisation) {
  // Half of the pixels up to the darker grey: it becomes 127.5, which is 128 to
  // even, the brighter one 255.
  const Pixels result = EqualizeTiles(Halves(8, 8, 100, 110), 1000, 1);
  EXPECT_NEAR(LightnessAt(result, 0, 0), 128, 0.01);
  EXPECT_NEAR(LightnessAt(result, 0, 7), 255, 0.01);
}

TEST(ClaheTest, TheLimitSharesCountsOut) {
  // 64 pixels in one bin of one tile, limit 1 a bin: 63 are shared out over the
  // bins 0, 4, 8, ...; lightness 128 has passed 33 of them and its own one.
  Pixels lab(8, 8, 3);
  for (size_t i = 0; i < lab.values.size(); i += 3) {
    lab.values[i] = 128 / 2.55;
  }
  const Pixels result = EqualizeTiles(LabToRgb(lab), 1, 1);
  EXPECT_NEAR(LightnessAt(result, 3, 3), AsByte(255.0 * 34 / 64), 0.01);
}

TEST(ClaheTest, TilesDifferAndBlend) {
  // Dark left, bright right; each tile equalises what it has, so in the middle
  // of the tiles both sides reach the top, and between them they are mixed.
  const Pixels result = EqualizeTiles(Halves(8, 16, 60, 200), 1000, 2);
  EXPECT_NEAR(LightnessAt(result, 4, 0), 255, 0.01);
  EXPECT_NEAR(LightnessAt(result, 4, 15), 255, 0.01);
}

TEST(ClaheTest, ColourStays) {
  Pixels image(16, 16, 3);
  for (int i = 0; i < 256; ++i) {
    image.values[3 * i] = 90 + i % 16;
    image.values[3 * i + 1] = 80 + i % 16;
    image.values[3 * i + 2] = 70 + i % 16;
  }
  const Pixels before = RgbToLab(image);
  const Pixels after = RgbToLab(EqualizeTiles(image, 1.5, 2));
  for (int i = 0; i < 256; ++i) {
    EXPECT_NEAR(after.values[3 * i + 1], before.values[3 * i + 1], 0.5);
  }
}

TEST(ClaheTest, SizesThatTilesDoNotFit) {
  const Pixels result = EqualizeTiles(Halves(13, 21, 60, 200), 2, 8);
  EXPECT_EQ(result.height, 13);
  EXPECT_EQ(result.width, 21);
}

}  // namespace
}  // namespace feedrate
