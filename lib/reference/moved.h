// Whether an output is made of pieces of the input.
#ifndef FEEDRATE_LIB_REFERENCE_MOVED_H_
#define FEEDRATE_LIB_REFERENCE_MOVED_H_

#include <string>

#include "lib/reference/pixels.h"

namespace feedrate {

// Each returns what does not fit, or nothing.

// `output` is a window of height x width somewhere in `input`, which has zeros
// around it on the sides where it is smaller.
std::string NotAWindow(const Pixels& input, const Pixels& output, int height,
                       int width);

// Each channel of `output` is one of `input`, and each of those is used once.
std::string NotPermutedChannels(const Pixels& input, const Pixels& output);

// `output` is `input` but for one rectangle of zeros whose area is from `low`
// to `high` of the image, give or take a row and a column.
std::string NotOneRectangle(const Pixels& input, const Pixels& output,
                            double low, double high);

// The middles of the tiles of a grid of rows x columns changed places and are
// otherwise as they were. Where tiles do not fit the image libraries cut it in
// different ways, so middles are looked for up to a few pixels further.
std::string NotShuffledTiles(const Pixels& input, const Pixels& output,
                             int rows, int columns);

// Whether two values are the same up to the rounding of float32.
bool SameValue(double a, double b);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_MOVED_H_
