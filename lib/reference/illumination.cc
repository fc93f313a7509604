#include "lib/reference/illumination.h"

#include <algorithm>
#include <cmath>

#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

// change(value, y, x) in place of each value, saturating.
template <typename Change>
Pixels MapPlaces(const Pixels& image, Change change) {
  Pixels result = image;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      for (int c = 0; c < image.channels; ++c) {
        result.at(y, x, c) = Saturate(change(image.at(y, x, c), y, x));
      }
    }
  }
  return result;
}

// From 0 at the first of `size` places to 1 at the last.
double Ramp(int at, int size) {
  return size == 1 ? 0 : static_cast<double>(at) / (size - 1);
}

}  // namespace

Pixels LightFromSide(const Pixels& image, double gain, Side side) {
  return MapPlaces(image, [&](double value, int y, int x) {
    double ramp = side == Side::kTop || side == Side::kBottom
                      ? Ramp(y, image.height)
                      : Ramp(x, image.width);
    if (side == Side::kTop || side == Side::kLeft) ramp = 1 - ramp;
    return value + 255 * gain * ramp;
  });
}

Pixels LightFromCorner(const Pixels& image, double gain, bool bottom,
                       bool right) {
  const int corner_y = bottom ? image.height - 1 : 0;
  const int corner_x = right ? image.width - 1 : 0;
  // A single pixel is its own corner.
  const double diagonal =
      std::max(1.0, std::hypot(image.height - 1, image.width - 1));
  return MapPlaces(image, [=](double value, int y, int x) {
    const double distance = std::hypot(y - corner_y, x - corner_x) / diagonal;
    return value * (1 + gain * (1 - distance));
  });
}

Pixels LightFromPoint(const Pixels& image, double gain, double x, double y,
                      double sigma) {
  const double centre_x = x * image.width;
  const double centre_y = y * image.height;
  const double spread = sigma * std::max(image.height, image.width);
  return MapPlaces(image, [=](double value, int row, int column) {
    const double d = std::hypot(column - centre_x, row - centre_y) / spread;
    return value * (1 + gain * std::exp(-d * d / 2));
  });
}

}  // namespace feedrate
