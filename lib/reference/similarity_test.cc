#include "lib/reference/similarity.h"

#include <cmath>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/reference/pixels.h"
#include "lib/reference/resample.h"

namespace feedrate {
namespace {

Pixels Waves(int height, int width) {
  Pixels image(height, width, 3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.at(y, x, c) =
            128 + 60 * std::sin(0.5 * x + c) + 50 * std::cos(0.4 * y);
      }
    }
  }
  return image;
}

Pixels Plus(const Pixels& image, double amount) {
  return MapValues(image, [=](double v) { return v + amount; });
}

TEST(SimilarityTest, OfEqualImages) {
  const Pixels image = Waves(20, 30);
  EXPECT_EQ(MaxAbsDiff(image, image), 0);
  EXPECT_TRUE(std::isinf(Psnr(image, image)));
  EXPECT_NEAR(Ssim(image, image), 1, 1e-12);
  EXPECT_TRUE(BestUnshifted(image, image));
}

TEST(SimilarityTest, PsnrOfAConstantDifference) {
  // A difference of 2.55 everywhere is 1/100 of the range: 40 dB.
  EXPECT_NEAR(Psnr(Waves(8, 8), Plus(Waves(8, 8), 2.55)), 40, 1e-9);
  EXPECT_NEAR(MaxAbsDiff(Waves(8, 8), Plus(Waves(8, 8), -3)), 3, 1e-9);
}

TEST(SimilarityTest, SsimOfFlatImagesIsTheirMeans) {
  // No variance: (2 m n + c1) / (m^2 + n^2 + c1).
  const Pixels a = Plus(Pixels(8, 8, 1), 100);
  const Pixels b = Plus(Pixels(8, 8, 1), 150);
  const double c1 = 2.55 * 2.55;
  EXPECT_NEAR(Ssim(a, b), (2 * 100 * 150 + c1) / (100 * 100 + 150 * 150 + c1),
              1e-12);
}

TEST(SimilarityTest, SsimOfSmallImages) {
  EXPECT_NEAR(Ssim(Waves(3, 40), Waves(3, 40)), 1, 1e-12);
  EXPECT_LT(Ssim(Waves(3, 4), Plus(Waves(3, 4), 30)), 1);
}

TEST(SimilarityTest, HalfAPixelIsSeen) {
  const Pixels image = Waves(20, 30);
  EXPECT_FALSE(BestUnshifted(Shifted(image, {0.5, 0}), image));
  EXPECT_FALSE(BestUnshifted(Shifted(image, {-0.5, 0.5}), image));
  EXPECT_FALSE(BestUnshifted(Shifted(image, {0, -0.4}), image));
}

TEST(SimilarityTest, OtherDifferencesAreNoShift) {
  const Pixels image = Waves(20, 30);
  EXPECT_TRUE(BestUnshifted(Shifted(image, {0.1, 0}), image));
  EXPECT_TRUE(BestUnshifted(MapValues(image, AsByte), image));
}

}  // namespace
}  // namespace feedrate
