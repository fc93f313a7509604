#include "lib/media/video/frame_rgb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "absl/status/status.h"
#include "lib/media/video/av.h"

namespace feedrate {
namespace {

AvPtr<AVFrame> FrameOf(AVPixelFormat format, int width, int height) {
  AvPtr<AVFrame> frame(av_frame_alloc());
  frame->format = format;
  frame->width = width;
  frame->height = height;
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  return frame;
}

// Every luma with chroma all over its range, one value a row.
AvPtr<AVFrame> AllColours(int step) {
  AvPtr<AVFrame> frame = FrameOf(AV_PIX_FMT_YUV420P, 512, 64);
  for (int y = 0; y < 64; ++y) {
    for (int x = 0; x < 512; ++x) {
      frame->data[0][y * frame->linesize[0] + x] = static_cast<uint8_t>(x / 2);
    }
  }
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 256; ++x) {
      frame->data[1][y * frame->linesize[1] + x] = static_cast<uint8_t>(8 * y);
      frame->data[2][y * frame->linesize[2] + x] =
          static_cast<uint8_t>(step * x + 3 * y);
    }
  }
  return frame;
}

uint8_t Clamped(double value) {
  return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

void ExpectNear(const AVFrame& frame, double kr, double kb, bool full) {
  std::vector<uint8_t> rgb(3 * frame.width * frame.height);
  FrameRgb converter;
  ASSERT_TRUE(converter.Convert(frame, rgb.data()).ok());
  const double kg = 1 - kr - kb;
  int worst = 0;
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; ++x) {
      const double luma =
          full ? frame.data[0][y * frame.linesize[0] + x]
               : (frame.data[0][y * frame.linesize[0] + x] - 16) * 255.0 / 219;
      const double scale = full ? 1 : 255.0 / 224;
      const double u =
          (frame.data[1][y / 2 * frame.linesize[1] + x / 2] - 128) * scale;
      const double v =
          (frame.data[2][y / 2 * frame.linesize[2] + x / 2] - 128) * scale;
      const uint8_t* got = &rgb[3 * (y * frame.width + x)];
      const uint8_t want[3] = {Clamped(luma + 2 * (1 - kr) * v),
                               Clamped(luma - 2 * (1 - kb) * kb / kg * u -
                                       2 * (1 - kr) * kr / kg * v),
                               Clamped(luma + 2 * (1 - kb) * u)};
      for (int c = 0; c < 3; ++c) {
        worst = std::max(worst, std::abs(got[c] - want[c]));
      }
    }
  }
  EXPECT_LE(worst, 2);
}

TEST(FrameRgbTest, HalfSizedChromaIsWithinTwoLevelsOfTheFormula) {
  AvPtr<AVFrame> frame = AllColours(1);
  ExpectNear(*frame, 0.299, 0.114, false);
  frame->colorspace = AVCOL_SPC_BT709;
  ExpectNear(*frame, 0.2126, 0.0722, false);
  frame->color_range = AVCOL_RANGE_JPEG;
  ExpectNear(*frame, 0.2126, 0.0722, true);
}

TEST(FrameRgbTest, SwscaleSeesTheSameColours) {
  // Uniform colours, so that how chroma is spread does not matter.
  AvPtr<AVFrame> frame = FrameOf(AV_PIX_FMT_YUV444P, 64, 2);
  AvPtr<AVFrame> half = FrameOf(AV_PIX_FMT_YUV420P, 64, 2);
  for (const int level : {20, 100, 200, 235}) {
    for (int plane = 0; plane < 3; ++plane) {
      const int value = plane == 0 ? level : 90 + 30 * plane;
      for (AVFrame* f : {frame.get(), half.get()}) {
        const int rows = f == half.get() && plane > 0 ? 1 : 2;
        std::fill_n(f->data[plane], f->linesize[plane] * rows, value);
      }
    }
    std::vector<uint8_t> ours(3 * 64 * 2);
    std::vector<uint8_t> theirs(3 * 64 * 2);
    FrameRgb converter;
    ASSERT_TRUE(converter.Convert(*half, ours.data()).ok());
    ASSERT_TRUE(converter.Convert(*frame, theirs.data()).ok());
    for (size_t i = 0; i < ours.size(); ++i) {
      EXPECT_NEAR(ours[i], theirs[i], 2) << level << " " << i;
    }
  }
}

TEST(FrameRgbTest, OddSizesStayInsideTheirMemory) {
  AvPtr<AVFrame> frame = FrameOf(AV_PIX_FMT_YUV420P, 33, 17);
  for (int plane = 0; plane < 3; ++plane) {
    std::fill_n(frame->data[plane],
                frame->linesize[plane] * (plane == 0 ? 17 : 9), 128);
  }
  std::vector<uint8_t> rgb(3 * 33 * 17 + 1, 7);
  FrameRgb converter;
  ASSERT_TRUE(converter.Convert(*frame, rgb.data()).ok());
  EXPECT_EQ(rgb.back(), 7);
  EXPECT_EQ(rgb[rgb.size() - 2], 130);
}

}  // namespace
}  // namespace feedrate
