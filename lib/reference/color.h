// Transforms of colors, of single values, and of the light on an image.
#pragma once

#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {

// Transforms that use the three colors of a pixel together. An image with more
// channels is treated as several RGB images. REQUIRES for all: the number of
// channels is a multiple of three.

// Luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, in all three channels.
Pixels Grayscale(const Pixels& image);
// Scales the distance from the mean luma of the image by `factor`, saturating.
Pixels AdjustContrast(const Pixels& image, double factor);
// Scales the distance from the luma of the pixel by `factor`, saturating.
Pixels AdjustSaturation(const Pixels& image, double factor);
// Rotates the hue of HSV by `turns` (1 is the whole circle).
Pixels ShiftHue(const Pixels& image, double turns);
// Multiplies a lightness of HLS (0..1) below `point` by `factor`, at most 1.
Pixels BleachDark(const Pixels& image, double point, double factor);

// Transforms of each value by itself, or depending on the histogram of its
// channel.

// 255 - value.
Pixels Invert(const Pixels& image);
// Keeps the `bits` highest bits of each byte. REQUIRES: 1 <= bits <= 8.
Pixels Posterize(const Pixels& image, int bits);
// Inverts values from `threshold` on.
Pixels Solarize(const Pixels& image, double threshold);
// 255 * (value / 255) ^ gamma.
Pixels Gamma(const Pixels& image, double gamma);
// Multiplies by `factor`, saturating.
Pixels Multiply(const Pixels& image, double factor);
// Multiplies channel c by factors[c % size], saturating. REQUIRES: not empty.
Pixels MultiplyChannels(const Pixels& image,
                        const std::vector<double>& factors);
// Adds shifts[c % size] to channel c, saturating. REQUIRES: not empty.
Pixels ShiftChannels(const Pixels& image, const std::vector<double>& shifts);

// Stretches each channel so that its smallest value becomes 0 and its largest
// 255. A channel with a single value stays.
Pixels StretchContrast(const Pixels& image);
// Flattens each channel's histogram, with steps as Pillow counts them: a step
// is 1/255 of the pixels that do not have the largest value, rounded down; a
// value becomes the number of steps below it, starting at half a step.
// REQUIRES: integer values.
Pixels EqualizeHistogram(const Pixels& image);

// CIE Lab of sRGB images under D65.

// L* (0..100), a* and b* in place of red, green and blue.
// REQUIRES: three channels.
Pixels RgbToLab(const Pixels& image);
// The inverse; colors outside sRGB saturate.
Pixels LabToRgb(const Pixels& image);

// Uneven light on an image.

// Where light comes from, or where it is strongest.
enum class Side { kTop, kBottom, kLeft, kRight };

// Adds a ramp from 0 on the opposite side to gain * 255 on `side`, saturating.
Pixels LightFromSide(const Pixels& image, double gain, Side side);

// Multiplies by 1 + gain * (1 - d), where d is the distance from the corner, 1
// in the opposite one; saturating.
Pixels LightFromCorner(const Pixels& image, double gain, bool bottom,
                       bool right);

// Multiplies by 1 + gain * exp(-d^2 / (2 (sigma * longest side)^2)), where d is
// the distance from the point (x * width, y * height); saturating.
Pixels LightFromPoint(const Pixels& image, double gain, double x, double y,
                      double sigma);

}  // namespace feedrate
