// Converts luma and chroma to RGB, in integers: bit for bit the same on the
// host and on a GPU.
#pragma once

#include <cstdint>

#include "lib/base/host_device.h"

namespace feedrate {

// In units of 1/64, so that sums of three fit into 16 bits, which doubles the
// pixels per instruction on a CPU.
struct YuvWeights {
  int16_t black;
  // In units of 1/128: limited range needs 74.5/64.
  int16_t y;
  int16_t red_v;
  int16_t green_u;
  int16_t green_v;
  int16_t blue_u;
};

// The contribution of chroma, including the rounding. Samples have 8 + kShift
// bits, and sums as many more.
template <int kShift = 0>
FEEDRATE_HD int RedOf(const YuvWeights& weights, int v) {
  return weights.red_v * (v - (128 << kShift)) + (32 << kShift);
}
template <int kShift = 0>
FEEDRATE_HD int GreenOf(const YuvWeights& weights, int u, int v) {
  return (32 << kShift) - weights.green_u * (u - (128 << kShift)) -
         weights.green_v * (v - (128 << kShift));
}
template <int kShift = 0>
FEEDRATE_HD int BlueOf(const YuvWeights& weights, int u) {
  return weights.blue_u * (u - (128 << kShift)) + (32 << kShift);
}

FEEDRATE_HD int LumaOf(int black, int weight, int y) {
  return ((y - black) * weight + 1) >> 1;
}

// From the sum of the luma and chroma parts.
FEEDRATE_HD uint8_t YuvToByte(int sum) {
  const int value = sum >> 6;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// A frame as NVDEC returns it.

struct Nv12Frame {
  const uint8_t* luma = nullptr;
  // U and V side by side, one pair per two by two pixels.
  const uint8_t* chroma = nullptr;
  // Bytes from one row to the next.
  int64_t luma_stride = 0;
  int64_t chroma_stride = 0;
  int width = 0;
  int height = 0;
  YuvWeights weights = {};
};

// Pixels of a row that one thread of the kernel in nv12_rgb.cu converts: three
// words of output.
inline constexpr int kNv12Pixels = 4;

// Converts pixels x … x+3 of row y, as far as they exist, and returns how many.
// The work of one thread of the kernel; also compiled for the host. REQUIRES: x
// is even and in the row. Neighbors share their chroma, as in
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
