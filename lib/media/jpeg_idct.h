// libjpeg's accurate inverse transform (islow), bit for bit, in vectors. For
// jpeg*.cc alone.
#ifndef FEEDRATE_LIB_MEDIA_JPEG_IDCT_H_
#define FEEDRATE_LIB_MEDIA_JPEG_IDCT_H_

#include <cstddef>
#include <cstdint>

namespace feedrate {

// 64 coefficients from left to right and top to bottom times 64 factors become
// 8 rows of 8 samples, `stride` apart. Numbers that no encoder makes overflow
// as they do in libjpeg-turbo's vector code on Arm; on x86 that code overflows
// in two ways, of which this is one. REQUIRES: both aligned to 16 bytes.
using JpegIdct = void (*)(const int16_t* coefficients, const uint16_t* factors,
                          uint8_t* out, size_t stride);

// For the processor that this runs on.
JpegIdct ChooseJpegIdct();

// What the transform makes of a first coefficient alone: the same sample 64
// times.
inline uint8_t JpegFlatSample(int16_t coefficient, uint16_t factor) {
  const auto scaled =
      static_cast<int16_t>(static_cast<uint32_t>(coefficient) * factor * 4);
  const int sample = ((scaled + 16) >> 5) + 128;
  return static_cast<uint8_t>(sample < 0 ? 0 : sample > 255 ? 255 : sample);
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_JPEG_IDCT_H_
