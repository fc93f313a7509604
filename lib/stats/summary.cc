#include "lib/stats/summary.h"

#include <math.h>  // lgamma_r, which unlike std::lgamma has no global state

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "glog/logging.h"
#include "lib/stats/quantiles.h"

namespace feedrate {
namespace {

double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// Continued fraction of the incomplete beta function, by Lentz's method. It
// converges fast for x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kPrecision = 1e-15;
  // Far more than any practical number of degrees of freedom needs.
  constexpr int kMaxTerms = 10000;
  const auto away_from_zero = [](double v) {
    return std::abs(v) < kTiny ? kTiny : v;
  };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double h = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    for (const double term :
         {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
          -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      h *= c * d;
    }
    if (std::abs(c * d - 1) < kPrecision) break;
  }
  return h;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace

double StudentTCdf(double t, double df) {
  CHECK_GT(df, 0);
  const double tail = IncompleteBeta(df / 2, 0.5, df / (df + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

double StudentTQuantile(double p, double df) {
  CHECK(p > 0 && p < 1) << p;
  if (p < 0.5) return -StudentTQuantile(1 - p, df);
  double low = 0;
  double high = 1;
  while (StudentTCdf(high, df) < p) high *= 2;
  // Bisects down to adjacent doubles: slow but safe, and rarely called.
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    if (middle == low || middle == high) break;
    (StudentTCdf(middle, df) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

namespace {

constexpr double kLevel = 0.95;

}  // namespace

double TOfRuns(int64_t runs) {
  static constexpr size_t kMost = 20;
  static const auto* const kKnown = [] {
    auto* known = new std::vector<double>(kMost + 1);
    for (size_t n = 2; n <= kMost; ++n) {
      (*known)[n] =
          StudentTQuantile((1 + kLevel) / 2, static_cast<double>(n - 1));
    }
    return known;
  }();
  CHECK_GE(runs, 2);
  const size_t n = static_cast<size_t>(runs);
  return n <= kMost
             ? (*kKnown)[n]
             : StudentTQuantile((1 + kLevel) / 2, static_cast<double>(n - 1));
}

namespace {

Interval FewRunsInterval(absl::Span<double> values) {
  // Sorted, so that rounding does not depend on the order of `values`.
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += std::log(value) / n;
  double squares = 0;
  for (const double value : values) {
    squares += (std::log(value) - mean) * (std::log(value) - mean);
  }
  const double half = TOfRuns(static_cast<int64_t>(values.size())) *
                      std::sqrt(squares / (n - 1) / n);
  // exp(log(x)) may differ from x by a bit, but the interval must contain it.
  const double middle = values[values.size() / 2];
  const double other = values[(values.size() - 1) / 2];
  return {std::min(std::exp(mean - half), other),
          std::max(std::exp(mean + half), middle)};
}

struct MedianEstimate {
  double median = 0;
  absl::optional<Interval> interval;
};

// Sorts only what lies between the two ranks of the interval: a few times the
// square root of the number of values.
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

// Reorders `values`.
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

}  // namespace

MedianRanks RanksAroundMedian(int64_t n) {
  CHECK_GE(n, kManyRuns);
  // Starts in the middle and goes outwards until 95% are enclosed. `enclosed`
  // is the probability that the median lies between the values of rank `d` and
  // n + 1 - d: that at least d and at most n - d values are below it.
  int64_t d = n / 2;
  double term = std::exp(LogGamma(n + 1.0) - LogGamma(d + 1.0) -
                         LogGamma(n - d + 1.0) - n * std::log(2.0));
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
  // The interpolation is not linear in the probability: this form is exact for
  // the double exponential distribution and close for all others
  // (Hettmansperger and Sheather).
  const double weight =
      static_cast<double>(n - d) * part /
      (static_cast<double>(d) + static_cast<double>(n - 2 * d) * part);
  return {d, weight};
}

absl::optional<Interval> MedianInterval(absl::Span<double> values) {
  if (values.empty()) return absl::nullopt;
  return EstimateMedian(values).interval;
}

double PercentOfLog(double log) { return 100 * std::expm1(log); }

Interval RatioInterval(double a_median, const Interval& a, double b_median,
                       const Interval& b) {
  const double center = std::log(a_median / b_median);
  const double down =
      std::hypot(std::log(a_median / a.low), std::log(b.high / b_median));
  const double up =
      std::hypot(std::log(a.high / a_median), std::log(b_median / b.low));
  return {std::exp(center - down), std::exp(center + up)};
}

namespace {

constexpr int kMantissaBits = 52;
// Power of two of the lowest mantissa bit of a number whose stored exponent is
// 1 (or 0).
constexpr int kLowestPower = -1074;

}  // namespace

void ExactSum::Add(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  int exponent = static_cast<int>(bits >> kMantissaBits) & 0x7FF;
  int64_t mantissa =
      static_cast<int64_t>(bits & ((uint64_t{1} << kMantissaBits) - 1));
  if (exponent == 0) {
    // Subnormal: no hidden bit, and the power of exponent 1.
    exponent = 1;
  } else {
    mantissa |= int64_t{1} << kMantissaBits;
  }
  bins_[exponent] += (bits >> 63) != 0 ? -mantissa : mantissa;
  low_ = std::min(low_, exponent);
  high_ = std::max(high_, exponent);
}

double ExactSum::Total() const {
  // The bins are exact in any order; from here on the order is fixed.
  double sum = 0;
  double lost = 0;
  for (int i = high_; i >= low_; --i) {
    const double term =
        std::ldexp(static_cast<double>(bins_[i]), i - 1 + kLowestPower);
    // Neumaier's correction: collects what the addition rounds off.
    const double next = sum + term;
    lost += std::abs(sum) >= std::abs(term) ? (sum - next) + term
                                            : (term - next) + sum;
    sum = next;
  }
  return sum + lost;
}

void ExactSum::Clear() {
  for (int i = low_; i <= high_; ++i) bins_[i] = 0;
  low_ = kExponents;
  high_ = -1;
}

namespace {

double SumOf(absl::Span<const double> values, double shift, bool squared) {
  // 32 KB, too large to construct for every call. Clear() only touches what was
  // used.
  thread_local ExactSum sum;
  sum.Clear();
  for (const double value : values) {
    const double term = value - shift;
    sum.Add(squared ? term * term : term);
  }
  return sum.Total();
}

std::vector<double> SortedLogs(absl::Span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) {
    CHECK_GT(value, 0);
    logs.push_back(std::log(value));
  }
  std::sort(logs.begin(), logs.end());
  return logs;
}

}  // namespace

double MeanOf(absl::Span<const double> values) {
  return SumOf(values, 0, false) / static_cast<double>(values.size());
}

namespace {

double DeviationOf(absl::Span<const double> values, double mean) {
  if (values.size() < 2) return 0;
  return std::sqrt(SumOf(values, mean, true) /
                   static_cast<double>(values.size() - 1));
}

}  // namespace

Summary Summarize(absl::Span<double> values) {
  CHECK(!values.empty());
  Summary summary;
  summary.n = static_cast<int64_t>(values.size());
  const auto ends = std::minmax_element(values.begin(), values.end());
  summary.min = *ends.first;
  summary.max = *ends.second;
  summary.mean = MeanOf(values);
  summary.sd = DeviationOf(values, summary.mean);
  summary.cv = summary.mean == 0 ? 0 : summary.sd / summary.mean;
  const MedianEstimate estimate = EstimateMedian(values);
  summary.median = estimate.median;
  summary.interval = estimate.interval;
  return summary;
}

namespace {

// How many of the slopes between n values without a trend may be left out at
// each end of a 95% interval: the largest k so that at most k slopes are below
// 0 with probability 0.025 or less. -1 if there is none.
int64_t SlopesLeftOut(size_t n) {
  constexpr size_t kMostExact = 60;
  constexpr double kEnd = 0.025;
  const size_t pairs = n * (n - 1) / 2;
  if (n > kMostExact) {
    const double size = static_cast<double>(n);
    const double deviation = std::sqrt(size * (size - 1) * (2 * size + 5) / 72);
    return static_cast<int64_t>(static_cast<double>(pairs) / 2 -
                                1.96 * deviation) -
           1;
  }
  // The chance of each number of inversions in a random order: the m-th value
  // adds 0 to m - 1 of them.
  std::vector<double> chance = {1};
  for (size_t m = 2; m <= n; ++m) {
    std::vector<double> next(chance.size() + m - 1);
    for (size_t i = 0; i < chance.size(); ++i) {
      for (size_t more = 0; more < m; ++more) {
        next[i + more] += chance[i] / static_cast<double>(m);
      }
    }
    chance = std::move(next);
  }
  int64_t most = -1;
  double sum = 0;
  for (const double one : chance) {
    sum += one;
    if (sum > kEnd) break;
    ++most;
  }
  return most;
}

}  // namespace

absl::optional<Slope> SlopeOf(absl::Span<const double> values) {
  const int64_t left_out =
      values.size() < 2 ? -1 : SlopesLeftOut(values.size());
  if (left_out < 0) return absl::nullopt;
  std::vector<double> slopes;
  slopes.reserve(values.size() * (values.size() - 1) / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = i + 1; j < values.size(); ++j) {
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
    }
  }
  std::sort(slopes.begin(), slopes.end());
  const auto low = static_cast<size_t>(left_out);
  Slope slope;
  slope.median = SortedQuantile(slopes, 0.5);
  slope.interval = {slopes[low], slopes[slopes.size() - 1 - low]};
  return slope;
}

double ChiSquareTail(double value, double df) {
  const double variance = 2 / (9 * df);
  const double z =
      (std::cbrt(value / df) - (1 - variance)) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2)) / 2;
}

double GeometricMean(absl::Span<const double> values) {
  CHECK(!values.empty());
  return std::exp(MeanOf(SortedLogs(values)));
}

absl::optional<Interval> GeometricMeanInterval(
    absl::Span<const double> values) {
  if (values.size() < static_cast<size_t>(kMinRunsForInterval)) {
    return absl::nullopt;
  }
  const std::vector<double> logs = SortedLogs(values);
  const double n = static_cast<double>(logs.size());
  const double mean = MeanOf(logs);
  const double half =
      StudentTQuantile(0.975, n - 1) * DeviationOf(logs, mean) / std::sqrt(n);
  return Interval{std::exp(mean - half), std::exp(mean + half)};
}

}  // namespace feedrate
