// The fast loop of FrameRgb, for the processor's own vectors. For
// lib/media/video only.
#pragma once

#include <cstdint>

#include "lib/media/video/yuv.h"

namespace feedrate {

// Planes of 8 bits, chroma of half the size, from the first pixel of the part
// that is wanted on, and from its chroma. Rows are `stride` bytes apart.
struct Yuv420Part {
  const uint8_t* y = nullptr;
  const uint8_t* u = nullptr;
  const uint8_t* v = nullptr;
  int64_t y_stride = 0;
  int64_t u_stride = 0;
  int64_t v_stride = 0;
  int width = 0;
  int height = 0;
  // The first pixel is the second one of a pair, in a row or of rows.
  bool starts_odd = false;
  bool starts_on_odd_row = false;
  YuvWeights weights = {};
};

// Writes rows of RGB without gaps, bit for bit what lib/media/video/yuv.h
// computes.
void Yuv420ToRgb(const Yuv420Part& part, uint8_t* rgb);

}  // namespace feedrate
