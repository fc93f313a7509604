#include "lib/adapters/cuda/warp_math.h"

#include <cmath>

namespace feedrate::fused {
namespace {

double Radians(double degrees) { return degrees * std::acos(-1.0) / 180; }

}  // namespace

Projection AffineProjection(const AffineMap& map, int height, int width) {
  const double centre_x = (width - 1) / 2.0;
  const double centre_y = (height - 1) / 2.0;
  const double cosine = map.scale * std::cos(Radians(map.degrees));
  const double sine = map.scale * std::sin(Radians(map.degrees));
  // Rows count downwards, hence the signs.
  const double shear_x = -std::tan(Radians(map.shear_x_degrees));
  const double shear_y = -std::tan(Radians(map.shear_y_degrees));
  const double a = cosine + sine * shear_y;
  const double b = cosine * shear_x + sine;
  const double c = -sine + cosine * shear_y;
  const double d = -sine * shear_x + cosine;
  // The other way round: from where a pixel goes to where it is read.
  const double determinant = a * d - b * c;
  const double ia = d / determinant;
  const double ib = -b / determinant;
  const double ic = -c / determinant;
  const double id = a / determinant;
  const double to_x = centre_x + map.x;
  const double to_y = centre_y + map.y;
  Projection projection;
  const double h[6] = {ia, ib, centre_x - ia * to_x - ib * to_y,
                       ic, id, centre_y - ic * to_x - id * to_y};
  for (int i = 0; i < 6; ++i) projection.h[i] = static_cast<float>(h[i]);
  return projection;
}

Projection CropProjection(int top, int left, int width, bool flip) {
  Projection projection;
  projection.h[0] = flip ? -1.0f : 1.0f;
  projection.h[2] = static_cast<float>(flip ? left + width - 1 : left);
  projection.h[5] = static_cast<float>(top);
  return projection;
}

Projection ResizeProjection(int height, int width, int to_height,
                            int to_width) {
  const double x = static_cast<double>(width) / to_width;
  const double y = static_cast<double>(height) / to_height;
  Projection projection;
  projection.h[0] = static_cast<float>(x);
  projection.h[2] = static_cast<float>(0.5 * x - 0.5);
  projection.h[4] = static_cast<float>(y);
  projection.h[5] = static_cast<float>(0.5 * y - 0.5);
  return projection;
}

}  // namespace feedrate::fused
