#include "lib/draw/sparkline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace feedrate {
namespace {

constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

std::vector<double> Joined(absl::Span<const double> values, size_t most) {
  if (values.size() <= most) return {values.begin(), values.end()};
  std::vector<double> joined;
  for (size_t i = 0; i < most; ++i) {
    const size_t from = i * values.size() / most;
    const size_t to = (i + 1) * values.size() / most;
    double sum = 0;
    for (size_t j = from; j < to; ++j) sum += values[j];
    joined.push_back(sum / static_cast<double>(to - from));
  }
  return joined;
}

}  // namespace

std::string Sparkline(absl::Span<const double> values, int most) {
  const std::vector<double> shown = Joined(values, std::max(1, most));
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : shown) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::string line;
  for (const double value : shown) {
    if (!std::isfinite(value)) {
      line += " ";
      continue;
    }
    const double share = high > low ? (value - low) / (high - low) : 0.5;
    line += kBlocks[std::min(7, static_cast<int>(share * 8))];
  }
  return line;
}

}  // namespace feedrate
