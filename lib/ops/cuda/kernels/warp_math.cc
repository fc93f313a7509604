#include "lib/ops/cuda/kernels/warp_math.h"

#include <array>
#include <utility>

namespace feedrate::fused {
namespace {

double Radians(double degrees) { return degrees * std::acos(-1.0) / 180; }

}  // namespace

Projection AffineProjection(const AffineMap& map, int height, int width) {
  const double center_x = (width - 1) / 2.0;
  const double center_y = (height - 1) / 2.0;
  const double cosine = map.scale * std::cos(Radians(map.degrees));
  const double sine = map.scale * std::sin(Radians(map.degrees));
  // Rows count downwards, hence the signs.
  const double shear_x = -std::tan(Radians(map.shear_x_degrees));
  const double shear_y = -std::tan(Radians(map.shear_y_degrees));
  const double a = cosine + sine * shear_y;
  const double b = cosine * shear_x + sine;
  const double c = -sine + cosine * shear_y;
  const double d = -sine * shear_x + cosine;
  // The inverse: from where a pixel goes to where it is read.
  const double determinant = a * d - b * c;
  const double ia = d / determinant;
  const double ib = -b / determinant;
  const double ic = -c / determinant;
  const double id = a / determinant;
  const double to_x = center_x + map.x;
  const double to_y = center_y + map.y;
  Projection projection;
  const double h[6] = {ia, ib, center_x - ia * to_x - ib * to_y,
                       ic, id, center_y - ic * to_x - id * to_y};
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

namespace {

constexpr int kUnknowns = 8;
using Row = std::array<double, kUnknowns + 1>;
using Equations = std::array<Row, kUnknowns>;

// Gaussian elimination with partial pivoting.
std::array<double, kUnknowns> Solve(Equations rows) {
  for (int i = 0; i < kUnknowns; ++i) {
    int best = i;
    for (int k = i + 1; k < kUnknowns; ++k) {
      if (std::abs(rows[k][i]) > std::abs(rows[best][i])) best = k;
    }
    std::swap(rows[i], rows[best]);
    for (int k = 0; k < kUnknowns; ++k) {
      if (k == i) continue;
      const double factor = rows[k][i] / rows[i][i];
      for (int j = i; j <= kUnknowns; ++j) rows[k][j] -= factor * rows[i][j];
    }
  }
  std::array<double, kUnknowns> result;
  for (int i = 0; i < kUnknowns; ++i) {
    result[i] = rows[i][kUnknowns] / rows[i][i];
  }
  return result;
}

}  // namespace

Projection SolvePerspective(const Corners& to, int height, int width) {
  Equations rows = {};
  for (int i = 0; i < 4; ++i) {
    const double x = i % 2 == 1 ? width - 1 : 0;
    const double y = i / 2 == 1 ? height - 1 : 0;
    rows[2 * i] = {x, y, 1, 0, 0, 0, -x * to.x[i], -y * to.x[i], to.x[i]};
    rows[2 * i + 1] = {0, 0, 0, x, y, 1, -x * to.y[i], -y * to.y[i], to.y[i]};
  }
  const std::array<double, kUnknowns> h = Solve(rows);
  Projection projection;
  for (int i = 0; i < kUnknowns; ++i) {
    projection.h[i] = static_cast<float>(h[i]);
  }
  return projection;
}

}  // namespace feedrate::fused
