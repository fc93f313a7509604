// Light that falls on an image unevenly.
#ifndef FEEDRATE_LIB_REFERENCE_ILLUMINATION_H_
#define FEEDRATE_LIB_REFERENCE_ILLUMINATION_H_

#include "lib/reference/pixels.h"

namespace feedrate {

// Where light comes from, or where it is strongest.
enum class Side { kTop, kBottom, kLeft, kRight };

// Adds a ramp from 0 on the opposite side to gain * 255 on `side`, saturating.
Pixels LightFromSide(const Pixels& image, double gain, Side side);

// Times 1 + gain * (1 - d), d being the distance from the corner, 1 in the
// opposite one; saturating.
Pixels LightFromCorner(const Pixels& image, double gain, bool bottom,
                       bool right);

// Times 1 + gain * exp(-d^2 / (2 (sigma * longest side)^2)), d being the
// distance from the point (x * width, y * height); saturating.
Pixels LightFromPoint(const Pixels& image, double gain, double x, double y,
                      double sigma);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_ILLUMINATION_H_
