// Transforms of each value by itself, or by what its channel holds.
#ifndef FEEDRATE_LIB_REFERENCE_TONE_H_
#define FEEDRATE_LIB_REFERENCE_TONE_H_

#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {

// 255 - value.
Pixels Invert(const Pixels& image);
// Keeps the `bits` highest bits of each byte. REQUIRES: 1 <= bits <= 8.
Pixels Posterize(const Pixels& image, int bits);
// Inverts values from `threshold` on.
Pixels Solarize(const Pixels& image, double threshold);
// 255 * (value / 255) ^ gamma.
Pixels Gamma(const Pixels& image, double gamma);
// Times `factor`, saturating.
Pixels Multiply(const Pixels& image, double factor);
// Channel c times factors[c % size], saturating. REQUIRES: not empty.
Pixels MultiplyChannels(const Pixels& image,
                        const std::vector<double>& factors);
// Channel c plus shifts[c % size], saturating. REQUIRES: not empty.
Pixels ShiftChannels(const Pixels& image, const std::vector<double>& shifts);

// Each channel stretched so that its least value becomes 0 and its greatest
// 255. A channel of one value stays.
Pixels StretchContrast(const Pixels& image);
// Each channel's histogram made flat, by the steps that Pillow counts: a step
// is 1/255 of the pixels less those of the greatest value, whole; a value
// becomes the number of steps below it, from half a step on. REQUIRES: whole
// values.
Pixels EqualizeHistogram(const Pixels& image);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_TONE_H_
