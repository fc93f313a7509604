#include "lib/reference/lab.h"

#include <cmath>

#include "lib/reference/pixels.h"

namespace feedrate {
namespace {

// The white of D65.
constexpr double kWhiteX = 0.950456;
constexpr double kWhiteZ = 1.088754;
// CIE's own numbers: below (6/29)^3 the cube root becomes a straight line.
constexpr double kEdge = 216.0 / 24389;
constexpr double kSlope = 841.0 / 108;

double Linear(double value) {
  const double v = value / 255;
  return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
}

double Companded(double linear) {
  const double v = linear <= 0.0031308
                       ? 12.92 * linear
                       : 1.055 * std::pow(linear, 1 / 2.4) - 0.055;
  return Saturate(255 * v);
}

double Root(double t) {
  return t > kEdge ? std::cbrt(t) : kSlope * t + 4.0 / 29;
}

double Cube(double root) {
  return root > 6.0 / 29 ? root * root * root : (root - 4.0 / 29) / kSlope;
}

}  // namespace

Pixels RgbToLab(const Pixels& image) {
  Pixels lab = image;
  for (size_t i = 0; i + 2 < image.values.size(); i += 3) {
    const double r = Linear(image.values[i]);
    const double g = Linear(image.values[i + 1]);
    const double b = Linear(image.values[i + 2]);
    const double x =
        Root((0.412453 * r + 0.357580 * g + 0.180423 * b) / kWhiteX);
    const double y = Root(0.212671 * r + 0.715160 * g + 0.072169 * b);
    const double z =
        Root((0.019334 * r + 0.119193 * g + 0.950227 * b) / kWhiteZ);
    lab.values[i] = 116 * y - 16;
    lab.values[i + 1] = 500 * (x - y);
    lab.values[i + 2] = 200 * (y - z);
  }
  return lab;
}

Pixels LabToRgb(const Pixels& image) {
  Pixels rgb = image;
  for (size_t i = 0; i + 2 < image.values.size(); i += 3) {
    const double root_y = (image.values[i] + 16) / 116;
    const double x = kWhiteX * Cube(root_y + image.values[i + 1] / 500);
    const double y = Cube(root_y);
    const double z = kWhiteZ * Cube(root_y - image.values[i + 2] / 200);
    rgb.values[i] = Companded(3.240479 * x - 1.537150 * y - 0.498535 * z);
    rgb.values[i + 1] = Companded(-0.969256 * x + 1.875991 * y + 0.041556 * z);
    rgb.values[i + 2] = Companded(0.055648 * x - 0.204043 * y + 1.057311 * z);
  }
  return rgb;
}

}  // namespace feedrate
