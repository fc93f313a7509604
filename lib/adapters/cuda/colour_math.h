// Brightness, contrast, saturation and hue of one pixel, values 0..1.
#ifndef FEEDRATE_LIB_ADAPTERS_CUDA_COLOUR_MATH_H_
#define FEEDRATE_LIB_ADAPTERS_CUDA_COLOUR_MATH_H_

#include <cmath>
#include <cstdint>

#include "lib/adapters/cuda/host_device.h"

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

// Away from `grey` by `factor`.
FEEDRATE_HD Rgb Blended(const Rgb& c, float grey, float factor) {
  const float rest = (1.0f - factor) * grey;
  return {Saturated(factor * c.r + rest), Saturated(factor * c.g + rest),
          Saturated(factor * c.b + rest)};
}

// How far between least (0) and greatest (1) the channel lies whose own hue is
// `turns` away: flat within a sixth of a turn, falling over another sixth.
FEEDRATE_HD float ChannelHeight(float turns) {
  const float part = turns - floorf(turns);
  const float distance = part < 0.5f ? part : 1.0f - part;
  return Saturated(2.0f - 6.0f * distance);
}

// Hue in turns: 0 red, 1/3 green, 2/3 blue; 0 for greys.
FEEDRATE_HD float HueOf(const Rgb& c, float high, float span) {
  if (span <= 0) return 0;
  const float sixth = 1.0f / (6.0f * span);
  if (high == c.r) return (c.g - c.b) * sixth;
  if (high == c.g) return 1.0f / 3 + (c.b - c.r) * sixth;
  return 2.0f / 3 + (c.r - c.g) * sixth;
}

// Hue of HSV turned by `turns`.
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

// Steps one after another, four bits each, the first in the lowest bits. At
// most eight; the first kNoStep ends them.
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

// The steps before contrast, whose mean luma contrast is about.
FEEDRATE_HD Rgb BeforeContrast(const Jitter& jitter, Rgb c) {
  for (uint32_t s = jitter.steps; (s & 15) != kNoStep; s >>= 4) {
    if ((s & 15) == kContrast) return c;
    if ((s & 15) == kBrightness) c = Scaled(c, jitter.brightness);
    if ((s & 15) == kSaturation) c = Blended(c, LumaOf(c), jitter.saturation);
    if ((s & 15) == kHue) c = HueShifted(c, jitter.hue);
  }
  return c;
}

// All of them; `mean` is the mean of LumaOf(BeforeContrast) over the image.
FEEDRATE_HD Rgb Jittered(const Jitter& jitter, Rgb c, float mean) {
  for (uint32_t s = jitter.steps; (s & 15) != kNoStep; s >>= 4) {
    if ((s & 15) == kBrightness) c = Scaled(c, jitter.brightness);
    if ((s & 15) == kContrast) c = Blended(c, mean, jitter.contrast);
    if ((s & 15) == kSaturation) c = Blended(c, LumaOf(c), jitter.saturation);
    if ((s & 15) == kHue) c = HueShifted(c, jitter.hue);
  }
  return c;
}

}  // namespace feedrate::fused

#endif  // FEEDRATE_LIB_ADAPTERS_CUDA_COLOUR_MATH_H_
