// Transforms that only move pixels.
#ifndef FEEDRATE_LIB_REFERENCE_REARRANGE_H_
#define FEEDRATE_LIB_REFERENCE_REARRANGE_H_

#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {

// Left and right change places.
Pixels FlipHorizontally(const Pixels& image);
// Top and bottom change places.
Pixels FlipVertically(const Pixels& image);
// Row y, column x goes to row x, column y.
Pixels Transpose(const Pixels& image);
// `times` quarter turns counter-clockwise; sides change places with it.
// REQUIRES: times >= 0.
Pixels RotateQuarters(const Pixels& image, int times);
// `border` rows and columns of zeros on each side. REQUIRES: border >= 0.
Pixels PadWithZeros(const Pixels& image, int border);
// The window with its upper left corner at (top, left); zeros outside the
// image. REQUIRES: a size that is not negative.
Pixels Crop(const Pixels& image, int top, int left, int height, int width);
// The window in the middle, half a pixel up or left of it where the rest is
// odd. An image that is smaller gets zeros around it.
Pixels CropCenter(const Pixels& image, int height, int width);
// Channel c of the result is channel order[c] of the image. REQUIRES: all are
// channels of the image.
Pixels OrderChannels(const Pixels& image, const std::vector<int>& order);
// Channel `channel` is all zeros.
Pixels DropChannel(const Pixels& image, int channel);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_REARRANGE_H_
