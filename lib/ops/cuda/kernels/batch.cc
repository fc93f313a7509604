#include "lib/ops/cuda/kernels/batch.h"

#include <algorithm>
#include <cmath>

namespace feedrate::fused {

Window CutMixBox(double own, int center_y, int center_x, int height,
                 int width) {
  const double half = 0.5 * std::sqrt(1 - own);
  const int half_height = static_cast<int>(half * height);
  const int half_width = static_cast<int>(half * width);
  const int top = std::max(0, center_y - half_height);
  const int left = std::max(0, center_x - half_width);
  const int bottom = std::min(height, center_y + half_height);
  const int right = std::min(width, center_x + half_width);
  return {top, left, bottom - top, right - left};
}

double CutMixOwn(const Window& box, int height, int width) {
  const double all = static_cast<double>(height) * width;
  return 1 - static_cast<double>(box.height) * box.width / all;
}

}  // namespace feedrate::fused
