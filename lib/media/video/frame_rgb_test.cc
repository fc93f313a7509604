// Frames as RGB, on the CPU and as a GPU computes them.
#include "lib/media/video/frame_rgb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "lib/media/image.h"
#include "lib/media/video/clip_walk.h"
#include "lib/media/video/demux.h"
#include "lib/media/video/synthetic_video.h"
#include "lib/media/video/yuv.h"

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

// Every luma, with chroma all over its range, one value per row.
AvPtr<AVFrame> AllColors(int step) {
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
  AvPtr<AVFrame> frame = AllColors(1);
  ExpectNear(*frame, 0.299, 0.114, false);
  frame->colorspace = AVCOL_SPC_BT709;
  ExpectNear(*frame, 0.2126, 0.0722, false);
  frame->color_range = AVCOL_RANGE_JPEG;
  ExpectNear(*frame, 0.2126, 0.0722, true);
}

TEST(FrameRgbTest, WindowsHaveThePixelsOfTheWholeFrame) {
  for (const AVPixelFormat format :
       {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV444P}) {
    const AvPtr<AVFrame> frame = FrameOf(format, 37, 21);
    for (int plane = 0; plane < 3; ++plane) {
      const int rows = plane == 0 || format == AV_PIX_FMT_YUV444P ? 21 : 11;
      for (int i = 0; i < rows * frame->linesize[plane]; ++i) {
        // Below 1,024 where samples have two bytes.
        frame->data[plane][i] = static_cast<uint8_t>(
            format == AV_PIX_FMT_YUV420P10 && i % 2 == 1 ? i % 4
                                                         : i * i + plane);
      }
    }
    FrameRgb converter;
    std::vector<uint8_t> whole(3 * 37 * 21);
    ASSERT_TRUE(converter.Convert(*frame, whole.data()).ok());
    for (const FrameWindow& window : {FrameWindow{0, 0, 1, 1},
                                      {1, 1, 36, 20},
                                      {5, 2, 17, 9},
                                      {36, 20, 1, 1}}) {
      std::vector<uint8_t> part(3 * window.width * window.height);
      ASSERT_TRUE(converter.Convert(*frame, window, part.data()).ok());
      for (int i = 0; i < static_cast<int>(part.size()); ++i) {
        const int y = window.y + i / 3 / window.width;
        const int x = window.x + i / 3 % window.width;
        ASSERT_EQ(part[i], whole[3 * (y * 37 + x) + i % 3])
            << format << " " << window.x << " " << i;
      }
    }
  }
}

TEST(FrameRgbTest, MoreBitsGiveTheColorsOfEight) {
  const AvPtr<AVFrame> eight = AllColors(1);
  std::vector<uint8_t> expected(3 * 512 * 64);
  FrameRgb converter;
  ASSERT_TRUE(converter.Convert(*eight, expected.data()).ok());
  for (const auto& [format, shift] :
       {std::pair(AV_PIX_FMT_YUV420P10, 2), {AV_PIX_FMT_YUV420P12, 4}}) {
    const AvPtr<AVFrame> frame = FrameOf(format, 512, 64);
    for (int plane = 0; plane < 3; ++plane) {
      for (int y = 0; y < (plane == 0 ? 64 : 32); ++y) {
        auto* const row = reinterpret_cast<uint16_t*>(
            frame->data[plane] + y * frame->linesize[plane]);
        for (int x = 0; x < (plane == 0 ? 512 : 256); ++x) {
          row[x] = static_cast<uint16_t>(
              eight->data[plane][y * eight->linesize[plane] + x] << shift);
        }
      }
    }
    std::vector<uint8_t> rgb(expected.size());
    ASSERT_TRUE(converter.Convert(*frame, rgb.data()).ok());
    for (size_t i = 0; i < rgb.size(); ++i) {
      ASSERT_NEAR(rgb[i], expected[i], 1) << shift << " " << i;
    }
  }
}

TEST(FrameRgbTest, SwscaleSeesTheSameColors) {
  // Uniform colors, so that chroma interpolation does not matter.
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

AvPtr<AVFrame> Noise(int width, int height) {
  AvPtr<AVFrame> frame(av_frame_alloc());
  frame->format = AV_PIX_FMT_YUV420P;
  frame->width = width;
  frame->height = height;
  EXPECT_EQ(av_frame_get_buffer(frame.get(), 0), 0);
  uint32_t state = 1;
  for (int plane = 0; plane < 3; ++plane) {
    const int rows = plane == 0 ? height : (height + 1) / 2;
    for (int i = 0; i < frame->linesize[plane] * rows; ++i) {
      state = state * 1664525 + 1013904223;
      frame->data[plane][i] = static_cast<uint8_t>(state >> 24);
    }
  }
  return frame;
}

// The frame's planes as NVDEC returns them, with gaps between rows.
struct Nv12Planes {
  explicit Nv12Planes(const AVFrame& frame)
      : stride(frame.width + 13),
        luma(static_cast<size_t>(stride) * frame.height),
        chroma(static_cast<size_t>(stride + 1) * ((frame.height + 1) / 2)) {
    for (int y = 0; y < frame.height; ++y) {
      for (int x = 0; x < frame.width; ++x) {
        luma[y * stride + x] = frame.data[0][y * frame.linesize[0] + x];
      }
    }
    for (int y = 0; y < (frame.height + 1) / 2; ++y) {
      for (int x = 0; x < (frame.width + 1) / 2; ++x) {
        uint8_t* const pair = &chroma[y * (stride + 1) + 2 * x];
        pair[0] = frame.data[1][y * frame.linesize[1] + x];
        pair[1] = frame.data[2][y * frame.linesize[2] + x];
      }
    }
  }

  const int stride;
  std::vector<uint8_t> luma;
  std::vector<uint8_t> chroma;
};

// Runs all threads of the kernel, one after the other.
std::vector<uint8_t> Convert(const AVFrame& frame) {
  const Nv12Planes planes(frame);
  Nv12Frame nv12;
  nv12.luma = planes.luma.data();
  nv12.chroma = planes.chroma.data();
  nv12.luma_stride = planes.stride;
  nv12.chroma_stride = planes.stride + 1;
  nv12.width = frame.width;
  nv12.height = frame.height;
  nv12.weights = WeightsOf(frame);
  std::vector<uint8_t> rgb;
  for (int y = 0; y < frame.height; ++y) {
    for (int x = 0; x < frame.width; x += kNv12Pixels) {
      uint8_t quad[3 * kNv12Pixels];
      const int count = Nv12Quad(nv12, x, y, quad);
      rgb.insert(rgb.end(), quad, quad + 3 * count);
    }
  }
  return rgb;
}

void ExpectAsOnTheCpu(const AVFrame& frame) {
  std::vector<uint8_t> wanted(3 * frame.width * frame.height);
  ConvertYuv420(frame, {0, 0, frame.width, frame.height}, wanted.data());
  EXPECT_EQ(Convert(frame), wanted);
}

TEST(Nv12MathTest, TheSameBytesAsTheCpuForEverySize) {
  for (const int width : {1, 2, 3, 4, 5, 6, 7, 31, 64}) {
    for (const int height : {1, 2, 9}) {
      SCOPED_TRACE(testing::Message() << width << "x" << height);
      ExpectAsOnTheCpu(*Noise(width, height));
    }
  }
}

TEST(Nv12MathTest, MatrixAndRangeAreTheFrames) {
  const AvPtr<AVFrame> frame = Noise(64, 32);
  const std::vector<uint8_t> plain = Convert(*frame);
  frame->colorspace = AVCOL_SPC_BT709;
  ExpectAsOnTheCpu(*frame);
  EXPECT_NE(Convert(*frame), plain);
  frame->color_range = AVCOL_RANGE_JPEG;
  ExpectAsOnTheCpu(*frame);
  frame->colorspace = AVCOL_SPC_BT2020_NCL;
  ExpectAsOnTheCpu(*frame);
}

TEST(FrameSizeTest, FramesAreAsLargeAsImagesAtMost) {
  AVCodecParameters parameters = {};
  parameters.width = 1 << 14;
  parameters.height = 1 << 14;
  EXPECT_TRUE(CheckFrameSize(parameters).ok());
  ++parameters.height;
  EXPECT_EQ(CheckFrameSize(parameters).message(),
            "frames of 16384x16385 are too large");
}

}  // namespace
}  // namespace feedrate
