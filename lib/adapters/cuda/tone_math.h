// Bytes to bytes, by what they are or by what their channel holds.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_TONE_MATH_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_TONE_MATH_H_

#include <cstdint>

#include "lib/adapters/cuda/host_device.h"

namespace feedrate::fused {

enum class Tone : int {
  kInvert,
  kPosterize,  // Keeps `amount` bits, 1..8.
  kSolarize,   // Inverts values from `amount` on.
  kMultiply,   // Times `amount`, to the nearest.
};

// Bytes to nearest, halves to even, saturating.
FEEDRATE_HD uint8_t ToByte(float value) {
#ifdef __CUDA_ARCH__
  return static_cast<uint8_t>(__float2uint_rn(fminf(value, 255.0f)));
#else
  if (!(value > 0)) return 0;
  if (value >= 255) return 255;
  const int down = static_cast<int>(value);
  const float rest = value - static_cast<float>(down);
  const bool up = rest > 0.5f || (rest == 0.5f && (down & 1) != 0);
  return static_cast<uint8_t>(down + (up ? 1 : 0));
#endif
}

FEEDRATE_HD uint8_t ToneOf(uint8_t value, Tone tone, float amount) {
  if (tone == Tone::kInvert) return static_cast<uint8_t>(255 - value);
  if (tone == Tone::kPosterize) {
    return static_cast<uint8_t>(value & (0xff00u >> static_cast<int>(amount)));
  }
  if (tone == Tone::kSolarize) {
    return static_cast<float>(value) >= amount
               ? static_cast<uint8_t>(255 - value)
               : value;
  }
  return ToByte(static_cast<float>(value) * amount);
}

// Pillow's count of steps: a step is 1/255 of the pixels less those of the
// greatest value. 0: the channel stays as it is.
FEEDRATE_HD uint32_t EqualizeStep(uint32_t pixels, uint32_t of_greatest) {
  return (pixels - of_greatest) / 255;
}

// What a value becomes that has `below` pixels of lesser values.
FEEDRATE_HD uint8_t EqualizedValue(uint32_t below, uint32_t step) {
  const uint32_t steps = (step / 2 + below) / step;
  return static_cast<uint8_t>(steps < 255 ? steps : 255);
}

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_TONE_MATH_H_
