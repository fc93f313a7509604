#include "lib/adapters/worker/resized_window.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "lib/adapters/worker/params.h"
#include "lib/adapters/worker/random.h"

namespace feedrate {
namespace {

int Rounded(double value) { return static_cast<int>(std::lround(value)); }

DrawnWindow CentralWindow(const WindowShape& shape, int height, int width) {
  const double ratio = static_cast<double>(width) / height;
  DrawnWindow window = {0, 0, height, width};
  if (ratio < shape.ratio.low) {
    window.height = Rounded(width / shape.ratio.low);
  } else if (ratio > shape.ratio.high) {
    window.width = Rounded(height * shape.ratio.high);
  }
  window.y = (height - window.height) / 2;
  window.x = (width - window.width) / 2;
  return window;
}

// False: it is no pair of positive numbers in their order.
bool ReadPair(absl::string_view name, Params* params, Range* range) {
  const std::vector<double> pair = params->Tuple(name, 2);
  if (pair.size() != 2 || pair[0] <= 0 || pair[1] < pair[0]) return false;
  *range = {pair[0], pair[1]};
  return true;
}

}  // namespace

std::optional<WindowShape> WindowShapeOf(
    const std::vector<std::string>& params) {
  Params read(params);
  const bool is_dali = read.Has("random_area");
  const char* const area = is_dali ? "random_area" : "scale";
  const char* const ratio = is_dali ? "random_aspect_ratio" : "ratio";
  WindowShape shape;
  if (!read.Has(area) || !ReadPair(area, &read, &shape.area)) {
    return std::nullopt;
  }
  if (read.Has(ratio) && !ReadPair(ratio, &read, &shape.ratio)) {
    return std::nullopt;
  }
  return shape;
}

DrawnWindow DrawResizedWindow(const WindowShape& shape, int height, int width,
                              Random* random) {
  const Range log_ratio = {std::log(shape.ratio.low),
                           std::log(shape.ratio.high)};
  for (int i = 0; i < shape.tries; ++i) {
    const double area =
        static_cast<double>(width) * height * random->Uniform(shape.area);
    const double ratio = std::exp(random->Uniform(log_ratio));
    const int w = Rounded(std::sqrt(area * ratio));
    const int h = Rounded(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const int y = static_cast<int>(random->Below(height - h + 1));
    const int x = static_cast<int>(random->Below(width - w + 1));
    return {y, x, h, w};
  }
  return CentralWindow(shape, height, width);
}

}  // namespace feedrate
