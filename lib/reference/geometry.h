// Transforms that move pixels.
#pragma once

#include <array>
#include <vector>

#include "lib/reference/pixels.h"

namespace feedrate {

// Swaps left and right.
Pixels FlipHorizontally(const Pixels& image);
// Swaps top and bottom.
Pixels FlipVertically(const Pixels& image);
// Moves row y, column x to row x, column y.
Pixels Transpose(const Pixels& image);
// Rotates by `times` quarter turns counter-clockwise; height and width swap
// accordingly. REQUIRES: times >= 0.
Pixels RotateQuarters(const Pixels& image, int times);
// Adds `border` rows and columns of zeros on each side. REQUIRES: border >= 0.
Pixels PadWithZeros(const Pixels& image, int border);
// The window with its upper left corner at (top, left); zeros outside the
// image. REQUIRES: a size that is not negative.
Pixels Crop(const Pixels& image, int top, int left, int height, int width);
// The centered window, half a pixel up or left where the rest is odd. A smaller
// image gets zeros around it.
Pixels CropCenter(const Pixels& image, int height, int width);
// Channel c of the result is channel order[c] of the image. REQUIRES: all are
// channels of the image.
Pixels OrderChannels(const Pixels& image, const std::vector<int>& order);
// Sets channel `channel` to zeros.
Pixels DropChannel(const Pixels& image, int channel);

// Transforms that read between the pixels, by bilinear interpolation. Pixel
// centers are at integer coordinates.

// Where to read: column and row.
struct Point {
  double x = 0;
  double y = 0;
};

// Stretches to that size: the outer edges of both images meet (pixel i of n
// lies at (i + 1/2)/n), the border is repeated, nothing is smoothed first.
// REQUIRES: an image that is not empty.
Pixels Resize(const Pixels& image, int height, int width);

// The size that Resize needs for a longest (or shortest) side of `side` with
// the aspect ratio kept: the other side rounded down, at least 1.
struct Size {
  int height = 0;
  int width = 0;
};
Size LongestSide(const Pixels& image, int side);
Size ShortestSide(const Pixels& image, int side);

// The centered square whose side is the shorter side.
Pixels CenterSquare(const Pixels& image);

// Rotates about the center by `degrees` counter-clockwise, scales by `scale`,
// then moves by `shift` (right, down). The size stays; zeros outside.
Pixels Affine(const Pixels& image, double degrees, double scale, Point shift);

// Shears along x about the center: a point `d` above the center moves d *
// tan(degrees) to the right. The size stays; zeros outside.
Pixels ShearX(const Pixels& image, double degrees);

// Pixel (x, y) is read at ((h0 x + h1 y + h2) / w, (h3 x + h4 y + h5) / w) with
// w = h6 x + h7 y + 1. The size stays; zeros outside.
Pixels Perspective(const Pixels& image, const std::array<double, 8>& h);

// A point at r times the half diagonal from (width/2, height/2) is read at
// r * (1 + strength * r^2) times. The size stays; zeros outside.
Pixels Fisheye(const Pixels& image, double strength);

// Reads `shift` further right and down; the border is repeated.
Pixels Shifted(const Pixels& image, Point shift);

}  // namespace feedrate
