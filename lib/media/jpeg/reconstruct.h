// From coefficients to RGB, bit for bit as libjpeg does it, in vectors: the
// accurate inverse transform (islow), smooth ("fancy") interpolation of colors,
// and YCbCr to RGB. For lib/media/jpeg only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace feedrate {

// 64 coefficients from left to right and top to bottom, times 64 factors,
// become 8 rows of 8 samples, `stride` apart. Numbers that no encoder produces
// overflow as in libjpeg-turbo's vector code on Arm; on x86 that code overflows
// in two ways, and this is one of them. REQUIRES: both aligned to 16 bytes.
using JpegIdct = void (*)(const int16_t* coefficients, const uint16_t* factors,
                          uint8_t* out, size_t stride);

// The implementation for this processor.
JpegIdct ChooseJpegIdct();

// The result for a block with only a first coefficient: the same sample 64
// times.
inline uint8_t JpegFlatSample(int16_t coefficient, uint16_t factor) {
  const auto scaled =
      static_cast<int16_t>(static_cast<uint32_t>(coefficient) * factor * 4);
  const int sample = ((scaled + 16) >> 5) + 128;
  return static_cast<uint8_t>(sample < 0 ? 0 : sample > 255 ? 255 : sample);
}

// Rows are read and written up to this many bytes past their end, except for
// `rgb`.
inline constexpr size_t kJpegRowMargin = 64;

// Whether a row of samples ends at the image's edge. Otherwise the samples at
// [-1] and [count] are read.
struct JpegEdges {
  bool left = false;
  bool right = false;
};

struct JpegRows {
  // Doubles `count` samples across. `near` is the row of samples in which the
  // wanted one lies, `far` the row on its other side; `far` is null for colors
  // that have as many rows as the image. `sums` has room for count + 2 numbers
  // and a margin.
  void (*widen)(const uint8_t* near, const uint8_t* far, int count,
                JpegEdges edges, uint16_t* sums, uint8_t* out);
  // Interpolates as many samples between two rows. The lower of the two
  // resulting rows is rounded the other way.
  void (*blend)(const uint8_t* near, const uint8_t* far, int count,
                bool far_is_below, uint8_t* out);
  void (*to_rgb)(const uint8_t* y, const uint8_t* cb, const uint8_t* cr,
                 int width, uint8_t* rgb);
  void (*gray_to_rgb)(const uint8_t* y, int width, uint8_t* rgb);
};

// The implementation for this processor.
JpegRows ChooseJpegRows();

}  // namespace feedrate
