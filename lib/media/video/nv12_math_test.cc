#include "lib/media/video/nv12_math.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "lib/media/video/av.h"
#include "lib/media/video/frame_rgb.h"
#include "lib/media/video/yuv_weights.h"

namespace feedrate {
namespace {

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

// The frame's planes as NVDEC would leave them, with gaps between rows.
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

// All threads of the kernel, one after the other.
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
  ConvertYuv420(frame, wanted.data());
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

}  // namespace
}  // namespace feedrate
