// What one thread of the kernel in nv12_rgb.cu does; also compiled for the
// host.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_NV12_MATH_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_NV12_MATH_H_

#include <cstdint>

#include "lib/base/host_device.h"
#include "lib/media/video/yuv_weights.h"

namespace feedrate {

struct Nv12Frame {
  const uint8_t* luma = nullptr;
  // U and V side by side, a pair for two by two pixels.
  const uint8_t* chroma = nullptr;
  // Bytes from one row to the next.
  int64_t luma_stride = 0;
  int64_t chroma_stride = 0;
  int width = 0;
  int height = 0;
  YuvWeights weights = {};
};

// Pixels that one thread converts, of one row: three words of output.
inline constexpr int kNv12Pixels = 4;

// Pixels x … x+3 of row y, as many of them as there are; returns how many.
// REQUIRES: x is even and in the row. Neighbours share their chroma, as in
// lib/media/video/frame_rgb.h.
FEEDRATE_HD int Nv12Quad(const Nv12Frame& frame, int x, int y, uint8_t* rgb) {
  const int left = frame.width - x;
  const int count = left < kNv12Pixels ? left : kNv12Pixels;
  const uint8_t* const luma = frame.luma + y * frame.luma_stride + x;
  // Pairs of chroma begin at even bytes, so that x is where its own is.
  const uint8_t* const chroma = frame.chroma + y / 2 * frame.chroma_stride + x;
  for (int i = 0; i < count; ++i) {
    const int u = chroma[i & ~1];
    const int v = chroma[(i & ~1) + 1];
    const int y_part = LumaOf(frame.weights.black, frame.weights.y, luma[i]);
    rgb[3 * i] = YuvToByte(y_part + RedOf(frame.weights, v));
    rgb[3 * i + 1] = YuvToByte(y_part + GreenOf(frame.weights, u, v));
    rgb[3 * i + 2] = YuvToByte(y_part + BlueOf(frame.weights, u));
  }
  return count;
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_NV12_MATH_H_
