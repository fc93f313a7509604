// Transforms that see the three colours of a pixel together. An image of more
// channels is taken as RGB images one behind the other.
#ifndef FEEDRATE_LIB_REFERENCE_COLOUR_H_
#define FEEDRATE_LIB_REFERENCE_COLOUR_H_

#include "lib/reference/pixels.h"

namespace feedrate {

// REQUIRES, of all here: a number of channels that three divides.

// Luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, in all three channels.
Pixels Grayscale(const Pixels& image);
// Away from the mean luma of the image by `factor`, saturating.
Pixels AdjustContrast(const Pixels& image, double factor);
// Away from the luma of the pixel by `factor`, saturating.
Pixels AdjustSaturation(const Pixels& image, double factor);
// Hue of HSV turned by `turns` (1 is the whole circle).
Pixels ShiftHue(const Pixels& image, double turns);
// Lightness of HLS (0..1) below `point` times `factor`, at most 1.
Pixels BleachDark(const Pixels& image, double point, double factor);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_COLOUR_H_
