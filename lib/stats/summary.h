// Summaries of repeated measurements: mean, median, and 95% intervals.
#pragma once

#include <array>
#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace feedrate {

// A confidence interval, of 95% unless stated otherwise.
struct Interval {
  double low = 0;
  double high = 0;
};

// Fewest runs that give an interval.
inline constexpr int64_t kMinRunsForInterval = 3;
// From this many runs on, an interval of the median needs no assumption. With
// five runs even the smallest and largest enclose the median in only 93.75% of
// all experiments.
inline constexpr int64_t kManyRuns = 6;
// The largest coefficient of variation that is not called unstable, as in the
// public benchmark.
inline constexpr double kUnstableCv = 0.15;

// A 95% interval of the median of the distribution that positive `values` come
// from. Absent for fewer than three values, or when a value is not above 0.
// - 3 to 5 values: Student's t interval of the logarithms. It is exact for
//   log-normal data, whose median is exp(mean of logarithms). Label such a
//   result `few_runs`: three runs cannot show whether they are log-normal.
// - 6 or more: the order statistics whose ranks enclose the median in 95% of
//   all samples of any continuous distribution, interpolated between two ranks
//   because ranks are whole numbers (Hettmansperger and Sheather 1986).
// The sample's median is always inside. docs/aggregate.md has the simulations.
//
// Reorders `values`.
absl::optional<Interval> MedianInterval(absl::Span<double> values);

// The ranks of that interval for `n` values, n >= kManyRuns. The lower end is
// (1 - weight) * x[rank] + weight * x[rank + 1], with x in ascending order and
// counted from 1. The upper end mirrors it from above.
struct MedianRanks {
  int64_t rank = 0;
  double weight = 0;
};
MedianRanks RanksAroundMedian(int64_t n);

// A 95% interval of the ratio of the medians of a and b, computed from their
// intervals (MOVER, the method of variance estimates recovery, on logarithms).
// Always contains a_median / b_median.
Interval RatioInterval(double a_median, const Interval& a, double b_median,
                       const Interval& b);

// A difference of logarithms, in percent of the first value.
double PercentOfLog(double log);

struct Summary {
  int64_t n = 0;
  // The headline number.
  double median = 0;
  double mean = 0;
  // Sample standard deviation (n - 1). 0 for one value, as in the public
  // benchmark.
  double sd = 0;
  // sd / mean; 0 when the mean is 0.
  double cv = 0;
  double min = 0;
  double max = 0;
  // 95% interval of the median. Absent for fewer than three values.
  absl::optional<Interval> interval;
};

// Gives the same bits for the same values in any order. Reorders `values`.
// Takes linear time. REQUIRES: not empty, all finite.
Summary Summarize(absl::Span<double> values);

// How much values change from one to the next: the median of the slopes between
// all pairs of them (Theil and Sen), and its 95% interval from the distribution
// of Kendall's S. A few values that are far off change little. Absent for fewer
// than five values, which have no such interval. Takes quadratic time.
struct Slope {
  double median = 0;
  Interval interval;
};
absl::optional<Slope> SlopeOf(absl::Span<const double> values);

// The same bits in any order. REQUIRES: not empty.
double MeanOf(absl::Span<const double> values);

// exp of the mean logarithm. REQUIRES: not empty, all above 0.
double GeometricMean(absl::Span<const double> values);

// A 95% interval of the geometric mean of the distribution that `values` come
// from: Student's t interval of the logarithms. Absent for fewer than three.
absl::optional<Interval> GeometricMeanInterval(absl::Span<const double> values);

// The probability that a chi-square variable with `df` degrees of freedom is
// larger than `value`, by Wilson and Hilferty's approximation: within 0.01 from
// one degree on. REQUIRES: value >= 0, df > 0.
double ChiSquareTail(double value, double df);

// Student's t distribution: the probability of at most `t` with `df` degrees of
// freedom (> 0, need not be whole). Accurate to about 12 digits.
double StudentTCdf(double t, double df);

// The t with StudentTCdf(t, df) = p. REQUIRES: 0 < p < 1, df > 0.
double StudentTQuantile(double p, double df);

// The 97.5% quantile of Student's t for `runs` values, that is, for one degree
// of freedom less. Remembers those of few runs, because each takes some ten
// microseconds and tables have many groups. REQUIRES: at least two runs.
double TOfRuns(int64_t runs);

// Adds doubles exactly, with one wide integer for each exponent. The same
// numbers give the same bits in any order, so a table does not change with the
// order of its files. About 2 ns per number.
class ExactSum {
 public:
  // REQUIRES: `value` is finite; fewer than 2^73 values.
  void Add(double value);
  // The sum. Rounds only here, a few times.
  double Total() const;
  // Sets the sum to zero. Takes time linear in the number of exponents in use.
  void Clear();

 private:
  static constexpr int kExponents = 2048;
  std::array<__int128, kExponents> bins_ = {};
  int low_ = kExponents;
  int high_ = -1;
};

}  // namespace feedrate
