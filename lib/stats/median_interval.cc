#include "lib/stats/median_interval.h"

#include <math.h>  // lgamma_r, which unlike std::lgamma has no global state

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "glog/logging.h"
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

// The value of `rank`, from 1, in ascending order.
double Select(absl::Span<double> values, int64_t rank) {
  const auto at = values.begin() + (rank - 1);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Interval ManyRunsInterval(absl::Span<double> values) {
  const int64_t n = static_cast<int64_t>(values.size());
  const MedianRanks ranks = RanksAroundMedian(n);
  const auto mix = [&](int64_t outer, int64_t inner) {
    const double from = Select(values, outer);
    return from + ranks.weight * (Select(values, inner) - from);
  };
  return {mix(ranks.rank, ranks.rank + 1),
          mix(n - ranks.rank + 1, n - ranks.rank)};
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

absl::optional<Interval> MedianInterval(absl::Span<double> values) {
  const int64_t n = static_cast<int64_t>(values.size());
  if (n < kMinRunsForInterval) return absl::nullopt;
  if (*std::min_element(values.begin(), values.end()) <= 0) {
    return absl::nullopt;
  }
  return n < kManyRuns ? FewRunsInterval(values) : ManyRunsInterval(values);
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
