#include "lib/stats/quantiles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "glog/logging.h"

namespace feedrate {
namespace {

struct Position {
  size_t below;
  double fraction;
};

Position PositionOf(size_t n, double p) {
  CHECK_GT(n, 0u);
  CHECK(p >= 0 && p <= 1) << p;
  const double at = p * static_cast<double>(n - 1);
  const size_t below = static_cast<size_t>(at);
  return {below, at - static_cast<double>(below)};
}

// Exact where both ends are equal, also when they are infinite.
double Between(double low, double high, double fraction) {
  return low == high ? low : low + (high - low) * fraction;
}

}  // namespace

double SortedQuantile(absl::Span<const double> sorted, double p) {
  const Position at = PositionOf(sorted.size(), p);
  if (at.fraction == 0) return sorted[at.below];
  return Between(sorted[at.below], sorted[at.below + 1], at.fraction);
}

double SelectQuantile(absl::Span<double> values, double p) {
  const Position at = PositionOf(values.size(), p);
  const auto middle = values.begin() + static_cast<ptrdiff_t>(at.below);
  std::nth_element(values.begin(), middle, values.end());
  if (at.fraction == 0) return *middle;
  // What follows is not smaller; the least of it is the next one.
  return Between(*middle, *std::min_element(middle + 1, values.end()),
                 at.fraction);
}

double Quantile(absl::Span<const double> values, double p) {
  std::vector<double> copy(values.begin(), values.end());
  return SelectQuantile(absl::MakeSpan(copy), p);
}

double Median(absl::Span<const double> values) { return Quantile(values, 0.5); }

}  // namespace feedrate
