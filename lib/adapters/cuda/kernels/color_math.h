// Color of one pixel: brightness, contrast, saturation and hue (values 0..1),
// and operations on bytes.
#pragma once

#include <cmath>
#include <cstdint>

#include "lib/base/host_device.h"

namespace feedrate::fused {

struct Rgb {
  float r = 0;
  float g = 0;
  float b = 0;
};

FEEDRATE_HD float Saturated(float value) {
#ifdef __CUDA_ARCH__
  return __saturatef(value);
#else
  return value > 0 ? (value < 1 ? value : 1) : 0;
#endif
}

// ITU-R BT.601.
FEEDRATE_HD float LumaOf(const Rgb& c) {
  return 0.299f * c.r + 0.587f * c.g + 0.114f * c.b;
}

FEEDRATE_HD Rgb Scaled(const Rgb& c, float factor) {
  return {Saturated(c.r * factor), Saturated(c.g * factor),
          Saturated(c.b * factor)};
}

// Moves away from `grey` by `factor`.
FEEDRATE_HD Rgb Blended(const Rgb& c, float grey, float factor) {
  const float rest = (1.0f - factor) * grey;
  return {Saturated(factor * c.r + rest), Saturated(factor * c.g + rest),
          Saturated(factor * c.b + rest)};
}

// Value of a channel between the least (0) and the greatest (1), if its own hue
// is `turns` away: constant within a sixth of a turn, falling over another
// sixth.
FEEDRATE_HD float ChannelHeight(float turns) {
  const float part = turns - floorf(turns);
  const float distance = part < 0.5f ? part : 1.0f - part;
  return Saturated(2.0f - 6.0f * distance);
}

// Hue in turns: 0 red, 1/3 green, 2/3 blue; 0 for grays.
FEEDRATE_HD float HueOf(const Rgb& c, float high, float span) {
  if (span <= 0) return 0;
  const float sixth = 1.0f / (6.0f * span);
  if (high == c.r) return (c.g - c.b) * sixth;
  if (high == c.g) return 1.0f / 3 + (c.b - c.r) * sixth;
  return 2.0f / 3 + (c.r - c.g) * sixth;
}

// Rotates the hue of HSV by `turns`.
FEEDRATE_HD Rgb HueShifted(const Rgb& c, float turns) {
  const float high = fmaxf(c.r, fmaxf(c.g, c.b));
  const float low = fminf(c.r, fminf(c.g, c.b));
  const float span = high - low;
  const float hue = HueOf(c, high, span) + turns;
  return {low + span * ChannelHeight(hue),
          low + span * ChannelHeight(hue - 1.0f / 3),
          low + span * ChannelHeight(hue - 2.0f / 3)};
}

enum JitterStep : uint32_t {
  kNoStep = 0,
  kBrightness = 1,
  kContrast = 2,
  kSaturation = 3,
  kHue = 4,
};

// Steps to apply in order, four bits each, the first in the lowest bits. At
// most eight; the first kNoStep ends the list.
struct Jitter {
  float brightness = 1;
  float contrast = 1;
  float saturation = 1;
  float hue = 0;
  uint32_t steps = 0;
};

FEEDRATE_HD uint32_t StepsOf(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return a | b << 4 | c << 8 | d << 12;
}

FEEDRATE_HD bool HasContrast(const Jitter& jitter) {
  for (uint32_t s = jitter.steps; (s & 15) != kNoStep; s >>= 4) {
    if ((s & 15) == kContrast) return true;
  }
  return false;
}

// Applies the steps before contrast. Their mean luma is the center of contrast.
FEEDRATE_HD Rgb BeforeContrast(const Jitter& jitter, Rgb c) {
  for (uint32_t s = jitter.steps; (s & 15) != kNoStep; s >>= 4) {
    if ((s & 15) == kContrast) return c;
    if ((s & 15) == kBrightness) c = Scaled(c, jitter.brightness);
    if ((s & 15) == kSaturation) c = Blended(c, LumaOf(c), jitter.saturation);
    if ((s & 15) == kHue) c = HueShifted(c, jitter.hue);
  }
  return c;
}

// Applies all steps; `mean` is the mean of LumaOf(BeforeContrast) over the
// image.
FEEDRATE_HD Rgb Jittered(const Jitter& jitter, Rgb c, float mean) {
  for (uint32_t s = jitter.steps; (s & 15) != kNoStep; s >>= 4) {
    if ((s & 15) == kBrightness) c = Scaled(c, jitter.brightness);
    if ((s & 15) == kContrast) c = Blended(c, mean, jitter.contrast);
    if ((s & 15) == kSaturation) c = Blended(c, LumaOf(c), jitter.saturation);
    if ((s & 15) == kHue) c = HueShifted(c, jitter.hue);
  }
  return c;
}

enum class Tone : int {
  kInvert,
  kPosterize,  // Keeps `amount` bits, 1..8.
  kSolarize,   // Inverts values from `amount` on.
  kMultiply,   // Times `amount`, to the nearest.
};

// Rounds to the nearest byte, halves to even, saturating.
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

// Pillow's step: 1/255 of the pixels without those of the greatest value. 0:
// the channel is unchanged.
FEEDRATE_HD uint32_t EqualizeStep(uint32_t pixels, uint32_t of_greatest) {
  return (pixels - of_greatest) / 255;
}

// New value of a value with `below` pixels of lesser values.
FEEDRATE_HD uint8_t EqualizedValue(uint32_t below, uint32_t step) {
  const uint32_t steps = (step / 2 + below) / step;
  return static_cast<uint8_t>(steps < 255 ? steps : 255);
}

}  // namespace feedrate::fused
