// How a mixture draws from data sets, and how it decodes a frame.
#include "lib/loader/mixture/dataset_stream.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "lib/loader/testing/test_files.h"
#include "lib/media/image_file.h"

namespace feedrate {
namespace {

TEST(MixOrderTest, SharesAreThoseOfTheWeights) {
  const MixOrder order({1, 2, 5}, /*block=*/1, /*prime=*/0, /*seed=*/3);
  int64_t samples[3] = {};
  constexpr int64_t kCount = 80000;
  for (int64_t i = 0; i < kCount; ++i) ++samples[order.DatasetAt(i)];
  // Within five standard deviations.
  EXPECT_NEAR(samples[0], kCount / 8, 500);
  EXPECT_NEAR(samples[1], kCount / 4, 650);
  EXPECT_NEAR(samples[2], kCount * 5 / 8, 700);
}

// A day at 1,000 samples per second, without a pixel: every data set keeps its
// weight within an interval that a right mixture leaves once in 10,000 times
// for any of 29 data sets and 25 spans.
TEST(MixOrderTest, SharesHoldForADay) {
  constexpr int kBlock = 4;
  constexpr int64_t kHours = 24;
  constexpr int64_t kBlocksPerHour = 3600 * 1000 / kBlock;
  // Two-sided normal quantile of 1e-4 / (29 * 25).
  constexpr double kWidest = 5.3;
  std::vector<double> weights;
  for (int i = 0; i < 29; ++i) weights.push_back(1 + i % 12 * (i % 12));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  const MixOrder order(weights, kBlock, /*prime=*/0, /*seed=*/11);
  std::vector<int64_t> day(weights.size());
  const auto expect_shares = [&](const std::vector<int64_t>& counts,
                                 int64_t blocks, int64_t hour) {
    for (size_t i = 0; i < weights.size(); ++i) {
      const double share = weights[i] / total;
      const auto n = static_cast<double>(blocks);
      const double off = std::abs(counts[i] - n * share);
      EXPECT_LT(off, kWidest * std::sqrt(n * share * (1 - share)))
          << "data set " << i << ", hour " << hour;
    }
  };
  for (int64_t hour = 0; hour < kHours; ++hour) {
    std::vector<int64_t> counts(weights.size());
    for (int64_t i = 0; i < kBlocksPerHour; ++i) {
      ++counts[order.DatasetAt((hour * kBlocksPerHour + i) * kBlock)];
    }
    expect_shares(counts, kBlocksPerHour, hour);
    for (size_t i = 0; i < day.size(); ++i) day[i] += counts[i];
  }
  expect_shares(day, kHours * kBlocksPerHour, -1);
}

TEST(MixOrderTest, ABlockIsOfOneDataSet) {
  const MixOrder order({1, 1, 1, 1}, /*block=*/8, /*prime=*/0, /*seed=*/3);
  bool changes = false;
  for (int64_t i = 0; i < 800; ++i) {
    EXPECT_EQ(order.DatasetAt(i), order.DatasetAt(i / 8 * 8));
    EXPECT_EQ(order.BlockEnd(i), (i / 8 + 1) * 8);
    changes |= order.DatasetAt(i) != order.DatasetAt(0);
  }
  EXPECT_TRUE(changes);
}

TEST(MixOrderTest, PrimingGoesThroughAllDataSets) {
  const MixOrder order({1, 1000, 1}, /*block=*/4, /*prime=*/3, /*seed=*/1);
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_EQ(order.DatasetAt(i), i / 3);
    EXPECT_EQ(order.BlockEnd(i), (i / 3 + 1) * 3);
  }
  EXPECT_EQ(order.BlockEnd(9), 13);
}

TEST(MixOrderTest, PositionsNeedNoOrder) {
  const MixOrder order({3, 1}, 2, 0, 9);
  const int late = order.DatasetAt(1000);
  for (int64_t i = 0; i < 100; ++i) order.DatasetAt(i);
  EXPECT_EQ(order.DatasetAt(1000), late);
}

// What resize_with_crop_or_pad makes of a whole decoded image.
std::vector<uint8_t> Expected(const std::vector<uint8_t>& rgb, int height,
                              int width, const FrameShape& shape) {
  std::vector<uint8_t> out(shape.bytes(), 0);
  const int from_y = std::max((height - shape.height) / 2, 0);
  const int from_x = std::max((width - shape.width) / 2, 0);
  const int to_y = std::max((shape.height - height) / 2, 0);
  const int to_x = std::max((shape.width - width) / 2, 0);
  for (int y = 0; y < std::min(height, shape.height); ++y) {
    for (int x = 0; x < 3 * std::min(width, shape.width); ++x) {
      out[(to_y + y) * 3 * shape.width + 3 * to_x + x] =
          rgb[(from_y + y) * 3 * width + 3 * from_x + x];
    }
  }
  return out;
}

TEST(FrameDecoderTest, CropsAndPadsAroundTheCenter) {
  FrameDecoder decoder;
  for (const auto& [height, width] : std::vector<std::tuple<int, int>>{
           {32, 32}, {64, 48}, {16, 16}, {65, 17}, {15, 49}, {33, 32}}) {
    const std::string jpeg = TestJpeg(height, width, 5);
    std::vector<uint8_t> rgb(3 * height * width);
    ASSERT_TRUE(DecodeJpeg(jpeg, height, width, rgb.data()).ok());
    const FrameShape shape = {32, 32};
    // Content of an earlier frame must be overwritten.
    std::vector<uint8_t> out(shape.bytes(), 77);
    ASSERT_TRUE(decoder.Decode(jpeg, shape, out.data()).ok());
    EXPECT_EQ(out, Expected(rgb, height, width, shape))
        << height << " x " << width;
  }
}

TEST(FrameDecoderTest, RefusesWhatIsNoJpeg) {
  FrameDecoder decoder;
  std::vector<uint8_t> out(3 * 32 * 32);
  EXPECT_FALSE(decoder.Decode("", {32, 32}, out.data()).ok());
  EXPECT_FALSE(decoder.Decode("nothing", {32, 32}, out.data()).ok());
  const std::string jpeg = TestJpeg(32, 32, 1);
  EXPECT_FALSE(
      decoder.Decode(jpeg.substr(0, jpeg.size() / 2), {32, 32}, out.data())
          .ok());
}

TEST(FrameDecoderTest, APngHasTheSameCropAndBorder) {
  // Taller and narrower than the frame.
  const Image image = TestImage(30, 20, 5);
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = 20;
  png.height = 30;
  png.format = PNG_FORMAT_RGB;
  std::string file(1 << 16, 0);
  png_alloc_size_t size = file.size();
  ASSERT_TRUE(png_image_write_to_memory(&png, file.data(), &size, 0,
                                        image.view().row(0), 0, nullptr));
  file.resize(size);
  std::vector<uint8_t> out(3 * 24 * 24, 9);
  FrameDecoder decoder;
  ASSERT_TRUE(decoder.Decode(file, {24, 24}, out.data()).ok());
  for (int y = 0; y < 24; ++y) {
    for (int x = 0; x < 24; ++x) {
      const bool is_inside = x >= 2 && x < 22;
      for (int c = 0; c < 3; ++c) {
        ASSERT_EQ(out[3 * (24 * y + x) + c],
                  is_inside ? image.view().row(y + 3)[3 * (x - 2) + c] : 0)
            << x << " " << y;
      }
    }
  }
  file[file.size() / 2] ^= 1;
  EXPECT_FALSE(decoder.Decode(file, {24, 24}, out.data()).ok());
}

}  // namespace
}  // namespace feedrate
