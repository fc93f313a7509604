#include "lib/stats/median_interval.h"

#include <math.h>  // lgamma_r, which unlike std::lgamma has no global state

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "glog/logging.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/student_t.h"

namespace feedrate {
namespace {

constexpr double kLevel = 0.95;

Interval FewRunsInterval(absl::Span<double> values) {
  // In order, so that rounding does not depend on how they came.
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += std::log(value) / n;
  double squares = 0;
  for (const double value : values) {
    squares += (std::log(value) - mean) * (std::log(value) - mean);
  }
  const double half = StudentTQuantile((1 + kLevel) / 2, n - 1) *
                      std::sqrt(squares / (n - 1) / n);
  // exp(log(x)) may miss x by a bit; the interval must not.
  const double middle = values[values.size() / 2];
  const double other = values[(values.size() - 1) / 2];
  return {std::min(std::exp(mean - half), other),
          std::max(std::exp(mean + half), middle)};
}

// Puts in order what lies between the two ranks of the interval, the only part
// that matters: a few times the root of their number.
MedianEstimate ManyRunsEstimate(absl::Span<double> values) {
  const int64_t n = static_cast<int64_t>(values.size());
  const MedianRanks ranks = RanksAroundMedian(n);
  const auto low = values.begin() + (ranks.rank - 1);
  const auto high = values.begin() + (n - ranks.rank);
  std::nth_element(values.begin(), low, values.end());
  std::nth_element(low + 1, high, values.end());
  std::sort(low + 1, high);
  MedianEstimate estimate;
  estimate.median = SortedQuantile(
      values.subspan(static_cast<size_t>(ranks.rank - 1),
                     static_cast<size_t>(n - 2 * ranks.rank + 2)),
      0.5);
  const auto mix = [&](double outer, double inner) {
    return outer + ranks.weight * (inner - outer);
  };
  estimate.interval = Interval{mix(*low, *(low + 1)), mix(*high, *(high - 1))};
  return estimate;
}

}  // namespace

MedianRanks RanksAroundMedian(int64_t n) {
  CHECK_GE(n, kManyRuns);
  // Start in the middle and go outwards until 95% are enclosed. `enclosed` is
  // the probability that the median lies between the values of rank `d` and
  // n + 1 - d: that at least d and at most n - d values are below it.
  int64_t d = n / 2;
  int sign;
  double term = std::exp(lgamma_r(n + 1.0, &sign) - lgamma_r(d + 1.0, &sign) -
                         lgamma_r(n - d + 1.0, &sign) - n * std::log(2.0));
  double enclosed = n % 2 == 0 ? term : 2 * term;
  double inner = 0;
  while (enclosed < kLevel) {
    inner = enclosed;
    term *= static_cast<double>(d) / static_cast<double>(n - d + 1);
    --d;
    enclosed += 2 * term;
  }
  CHECK_GE(d, 1);
  const double part = (enclosed - kLevel) / (enclosed - inner);
  // Interpolation is not linear in the probability: this is exact for the
  // double exponential and close for all others (Hettmansperger, Sheather).
  const double weight =
      static_cast<double>(n - d) * part /
      (static_cast<double>(d) + static_cast<double>(n - 2 * d) * part);
  return {d, weight};
}

MedianEstimate EstimateMedian(absl::Span<double> values) {
  const int64_t n = static_cast<int64_t>(values.size());
  CHECK_GT(n, 0);
  const bool positive = *std::min_element(values.begin(), values.end()) > 0;
  if (n >= kManyRuns && positive) return ManyRunsEstimate(values);
  MedianEstimate estimate;
  estimate.median = SelectQuantile(values, 0.5);
  if (n >= kMinRunsForInterval && positive) {
    estimate.interval = FewRunsInterval(values);
  }
  return estimate;
}

absl::optional<Interval> MedianInterval(absl::Span<double> values) {
  if (values.empty()) return absl::nullopt;
  return EstimateMedian(values).interval;
}

Interval RatioInterval(double a_median, const Interval& a, double b_median,
                       const Interval& b) {
  const double centre = std::log(a_median / b_median);
  const double down =
      std::hypot(std::log(a_median / a.low), std::log(b.high / b_median));
  const double up =
      std::hypot(std::log(a.high / a_median), std::log(b_median / b.low));
  return {std::exp(centre - down), std::exp(centre + up)};
}

}  // namespace feedrate
