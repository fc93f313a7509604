#include "lib/adapters/cuda/solve_perspective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace feedrate::fused {
namespace {

constexpr int kUnknowns = 8;
using Row = std::array<double, kUnknowns + 1>;
using Equations = std::array<Row, kUnknowns>;

// Gauss with the largest pivot of each column.
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
