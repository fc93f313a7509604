// Transforms that read between the pixels, by bilinear interpolation. Pixel
// centres are at whole coordinates.
#ifndef FEEDRATE_LIB_REFERENCE_RESAMPLE_H_
#define FEEDRATE_LIB_REFERENCE_RESAMPLE_H_

#include <array>

#include "lib/reference/pixels.h"

namespace feedrate {

// Where to read: column and row.
struct Point {
  double x = 0;
  double y = 0;
};

// Stretched to that size: the outer edges of both images meet (pixel i of n
// lies at (i + 1/2)/n), the border is repeated, nothing is smoothed first.
// REQUIRES: an image that is not empty.
Pixels Resize(const Pixels& image, int height, int width);

// The size that Resize needs for a longest (or shortest) side of `side` with
// the aspect kept: the other side rounded down, at least 1.
struct Size {
  int height = 0;
  int width = 0;
};
Size LongestSide(const Pixels& image, int side);
Size ShortestSide(const Pixels& image, int side);

// The square in the middle with the shorter side as its side.
Pixels CenterSquare(const Pixels& image);

// Turned about the centre by `degrees` counter-clockwise, `scale` times as
// large, then moved by `shift` (right, down). The size stays; zeros outside.
Pixels Affine(const Pixels& image, double degrees, double scale, Point shift);

// Sheared along x about the centre: a point `d` above the centre moves
// d * tan(degrees) to the right. The size stays; zeros outside.
Pixels ShearX(const Pixels& image, double degrees);

// Pixel (x, y) is read at ((h0 x + h1 y + h2) / w, (h3 x + h4 y + h5) / w) with
// w = h6 x + h7 y + 1. The size stays; zeros outside.
Pixels Perspective(const Pixels& image, const std::array<double, 8>& h);

// A point at r times the half diagonal from (width/2, height/2) is read at
// r * (1 + strength * r^2) times. The size stays; zeros outside.
Pixels Fisheye(const Pixels& image, double strength);

// Read `shift` further right and down, the border repeated.
Pixels Shifted(const Pixels& image, Point shift);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_REFERENCE_RESAMPLE_H_
