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

// Moves away from `gray` by `factor`.
FEEDRATE_HD Rgb Blended(const Rgb& c, float gray, float factor) {
  const float rest = (1.0f - factor) * gray;
  return {Saturated(factor * c.r + rest), Saturated(factor * c.g + rest),
          Saturated(factor * c.b + rest)};
}

// The nearest integer.
FEEDRATE_HD float Nearest(float value) {
#ifdef __CUDA_ARCH__
  // Additions run at four times the rate of rounding.
  constexpr float kBias = 12582912;  // 1.5 * 2^23.
  return __fadd_rn(value, kBias) - kBias;
#else
  return rintf(value);
#endif
}

// Value of a channel between the least (0) and the greatest (1), if its own hue
// is `turns` away: constant within a sixth of a turn, falling over another
// sixth.
FEEDRATE_HD float ChannelHeight(float turns) {
  return Saturated(2.0f - 6.0f * fabsf(turns - Nearest(turns)));
}

// Hue in turns: 0 red, 1/3 green, 2/3 blue; 0 for grays.
FEEDRATE_HD float HueOf(const Rgb& c, float high, float span) {
  // All differences of a gray are 0, whatever the factor.
  const float six = 6.0f * fmaxf(span, 1e-20f);
#ifdef __CUDA_ARCH__
  const float sixth = __fdividef(1.0f, six);
#else
  const float sixth = 1.0f / six;
#endif
  const bool is_red = high == c.r;
  const bool is_green = high == c.g;
  const float difference =
      is_red ? c.g - c.b : (is_green ? c.b - c.r : c.r - c.g);
  const float start = is_red ? 0 : (is_green ? 1.0f / 3 : 2.0f / 3);
  return start + difference * sixth;
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

// The steps from contrast on; none if it is not among them.
FEEDRATE_HD uint32_t FromContrast(uint32_t steps) {
  while ((steps & 15) != kNoStep && (steps & 15) != kContrast) steps >>= 4;
  return (steps & 15) == kContrast ? steps : 0;
}

FEEDRATE_HD bool HasContrast(const Jitter& jitter) {
  return FromContrast(jitter.steps) != 0;
}

// Applies steps to some pixels, up to the first that is `end`. `mean` is the
// center of contrast.
template <int kPixels>
FEEDRATE_HD void ApplySteps(const Jitter& jitter, uint32_t steps, uint32_t end,
                            float mean, Rgb (&c)[kPixels]) {
  // One decision per step, not per pixel.
  for (; (steps & 15) != kNoStep && (steps & 15) != end; steps >>= 4) {
    switch (steps & 15) {
      case kBrightness:
        for (Rgb& each : c) each = Scaled(each, jitter.brightness);
        break;
      case kContrast:
        for (Rgb& each : c) each = Blended(each, mean, jitter.contrast);
        break;
      case kSaturation:
        for (Rgb& each : c) {
          each = Blended(each, LumaOf(each), jitter.saturation);
        }
        break;
      case kHue:
        for (Rgb& each : c) each = HueShifted(each, jitter.hue);
        break;
    }
  }
}

// Applies the steps before contrast. Their mean luma is the center of contrast.
FEEDRATE_HD Rgb BeforeContrast(const Jitter& jitter, const Rgb& c) {
  Rgb one[1] = {c};
  ApplySteps(jitter, jitter.steps, kContrast, 0, one);
  return one[0];
}

// Applies all steps; `mean` is the mean of LumaOf(BeforeContrast) over the
// image.
FEEDRATE_HD Rgb Jittered(const Jitter& jitter, const Rgb& c, float mean) {
  Rgb one[1] = {c};
  ApplySteps(jitter, jitter.steps, kNoStep, mean, one);
  return one[0];
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
