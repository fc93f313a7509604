// python/tests/episode_values_test.py compares with Pillow.
#include "lib/media/resample.h"

#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace feedrate {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr ResampleFilter kAll[] = {
    ResampleFilter::kBox, ResampleFilter::kBilinear, ResampleFilter::kHamming,
    ResampleFilter::kBicubic, ResampleFilter::kLanczos};

std::vector<uint8_t> Resample(const std::vector<uint8_t>& pixels, int height,
                              int width, Resampler* resampler,
                              const ResampleWindow& window) {
  const ResampleWindow from = resampler->Plan(height, width);
  // Only what it asks for, so that a sanitizer sees what else it reads.
  std::vector<uint8_t> needed;
  for (int y = from.y; y < from.y + from.height; ++y) {
    const auto row = pixels.begin() + 3 * (y * width + from.x);
    needed.insert(needed.end(), row, row + 3 * from.width);
  }
  std::vector<uint8_t> out(3 * window.height * window.width);
  resampler->Run(needed.data(), 3 * from.width, out.data(), 3 * window.width);
  return out;
}

TEST(ResampleTest, PixelsOfKnownPictures) {
  Resampler half(1, 1, ResampleFilter::kBox, {0, 0, 1, 1});
  // Columns first, each rounded: (1 + 2) / 2 is 2, (4 + 7) / 2 is 6.
  EXPECT_THAT(Resample({1, 10, 0, 2, 10, 1, 4, 20, 0, 7, 20, 0}, 2, 2, &half,
                       {0, 0, 1, 1}),
              ElementsAre(4, 15, 1));
  for (const ResampleFilter filter : kAll) {
    for (const int size : {1, 5, 9, 40}) {
      const ResampleWindow all = {0, 0, size, 7};
      Resampler resampler(size, 7, filter, all);
      const std::vector<uint8_t> white(3 * 9 * 11, 255);
      EXPECT_THAT(Resample(white, 9, 11, &resampler, all), Each(255));
    }
  }
}

TEST(ResampleTest, AWindowIsThatOfTheWholeResult) {
  std::vector<uint8_t> pixels(3 * 31 * 43);
  for (size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<uint8_t>(i * i * 31 >> 3);
  }
  for (const ResampleFilter filter : kAll) {
    for (const auto& [height, width] :
         {std::pair(12, 19), std::pair(31, 60), std::pair(50, 43)}) {
      const ResampleWindow all = {0, 0, height, width};
      const ResampleWindow part = {3, 8, 7, 9};
      Resampler whole(height, width, filter, all);
      Resampler cut(height, width, filter, part);
      const auto wanted = Resample(pixels, 31, 43, &whole, all);
      const auto found = Resample(pixels, 31, 43, &cut, part);
      for (int y = 0; y < part.height; ++y) {
        for (int x = 0; x < 3 * part.width; ++x) {
          ASSERT_EQ(found[3 * y * part.width + x],
                    wanted[3 * ((y + part.y) * width + part.x) + x]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace feedrate
