// Which pixels of a line make one pixel of a longer or shorter line.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_TAPS_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_TAPS_H_

#include "lib/adapters/cuda/host_device.h"

namespace feedrate::fused {

FEEDRATE_HD int Clamp(int value, int low, int high) {
  return value < low ? low : (value > high ? high : value);
}

FEEDRATE_HD float Clamp(float value, float low, float high) {
  return value < low ? low : (value > high ? high : value);
}

// Where pixel `i` reads when `step` pixels of the source become one: the outer
// edges of both lines meet, centres are at whole coordinates.
FEEDRATE_HD float ResizedFrom(int i, float step) {
  return (static_cast<float>(i) + 0.5f) * step - 0.5f;
}

// The pixels first to first + count - 1 of a line, weighted by a triangle that
// is as wide as two source pixels or, where the line gets shorter, two target
// pixels: the filter that Pillow and torch (antialias=True) call bilinear.
struct Taps {
  int first = 0;
  int count = 0;
  float centre = 0;   // Of the triangle, edges of pixels at whole coordinates.
  float inverse = 1;  // One over half its width.
};

// For pixel `i` of a line of source length `size`. REQUIRES: size >= 1.
FEEDRATE_HD Taps AntialiasTaps(int i, float step, int size) {
  const float half = step > 1.0f ? step : 1.0f;
  Taps taps;
  taps.centre = (static_cast<float>(i) + 0.5f) * step;
  taps.inverse = 1.0f / half;
  const int first = static_cast<int>(taps.centre - half + 0.5f);
  const int last = static_cast<int>(taps.centre + half + 0.5f);
  taps.first = first < 0 ? 0 : first;
  taps.count = (last > size ? size : last) - taps.first;
  return taps;
}

// Of pixel first + k; the sum over k is not 1 but TapSum.
FEEDRATE_HD float TapWeight(const Taps& taps, int k) {
  const float at =
      (static_cast<float>(taps.first + k) - taps.centre + 0.5f) * taps.inverse;
  const float weight = 1.0f - (at < 0 ? -at : at);
  return weight > 0 ? weight : 0;
}

FEEDRATE_HD float TapSum(const Taps& taps) {
  float sum = 0;
  for (int k = 0; k < taps.count; ++k) sum += TapWeight(taps, k);
  return sum;
}

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_TAPS_H_
