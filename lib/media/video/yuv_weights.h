// From luma and chroma to RGB, in whole numbers: the same on the host and on a
// GPU, to the bit.
#ifndef FEEDRATE_LIB_MEDIA_VIDEO_YUV_WEIGHTS_H_
#define FEEDRATE_LIB_MEDIA_VIDEO_YUV_WEIGHTS_H_

#include <cstdint>

#include "lib/base/host_device.h"

namespace feedrate {

// In 1/64, so that sums of three fit into 16 bits, which is twice the pixels an
// instruction on a CPU.
struct YuvWeights {
  int16_t black;
  // In 1/128: 74.5 for limited range is no whole number of 1/64.
  int16_t y;
  int16_t red_v;
  int16_t green_u;
  int16_t green_v;
  int16_t blue_u;
};

// `red` and `blue` are their shares of luma, as 0.299 and 0.114 in BT.601.
YuvWeights MakeYuvWeights(double red, double blue, bool full_range);

// What chroma adds, with the rounding already in it.
FEEDRATE_HD int RedOf(const YuvWeights& weights, int v) {
  return weights.red_v * (v - 128) + 32;
}
FEEDRATE_HD int GreenOf(const YuvWeights& weights, int u, int v) {
  return 32 - weights.green_u * (u - 128) - weights.green_v * (v - 128);
}
FEEDRATE_HD int BlueOf(const YuvWeights& weights, int u) {
  return weights.blue_u * (u - 128) + 32;
}

FEEDRATE_HD int LumaOf(int black, int weight, int y) {
  return ((y - black) * weight + 1) >> 1;
}

// Of luma and what chroma adds.
FEEDRATE_HD uint8_t YuvToByte(int sum) {
  const int value = sum >> 6;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_VIDEO_YUV_WEIGHTS_H_
