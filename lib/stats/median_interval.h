// How sure a median of a few runs is.
#ifndef FEEDRATE_LIB_STATS_MEDIAN_INTERVAL_H_
#define FEEDRATE_LIB_STATS_MEDIAN_INTERVAL_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace feedrate {

// A range that holds the truth in 95% of experiments.
struct Interval {
  double low = 0;
  double high = 0;
};

// Below this many runs there is no interval at all.
inline constexpr int64_t kMinRunsForInterval = 3;
// From this many on an interval of the median needs no assumption: of five runs
// even smallest and largest enclose the median in only 93.75% of experiments.
inline constexpr int64_t kManyRuns = 6;

// A 95% interval of the median of the distribution that positive `values` come
// from, or none for fewer than three or when one is not above 0:
// - 3 to 5 values: Student's t interval of the logarithms. It is exact for
//   log-normal data, whose median is exp(mean of logarithms). Call such a
//   result `few_runs`: three runs cannot show whether they are log-normal.
// - 6 or more: the order statistics whose ranks enclose the median in 95% of
//   all samples of any continuous distribution, interpolated between two ranks
//   (Hettmansperger and Sheather 1986) because ranks are whole.
// The sample's median is always inside. docs/aggregate.md has the simulations.
//
// Reorders `values`.
absl::optional<Interval> MedianInterval(absl::Span<double> values);

// Both at once, which costs less than one after the other. REQUIRES: not empty.
struct MedianEstimate {
  double median = 0;
  absl::optional<Interval> interval;
};
MedianEstimate EstimateMedian(absl::Span<double> values);

// The ranks of the interval above for `n` values, n >= kManyRuns: its lower end
// is (1 - weight) * x[rank] + weight * x[rank + 1] in ascending order, counted
// from 1; its upper end mirrors it from above.
struct MedianRanks {
  int64_t rank = 0;
  double weight = 0;
};
MedianRanks RanksAroundMedian(int64_t n);

// A 95% interval of the ratio of the medians of a and b, from their intervals
// (MOVER, the method of variance estimates recovery, on logarithms). Always
// holds a_median / b_median.
Interval RatioInterval(double a_median, const Interval& a, double b_median,
                       const Interval& b);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_MEDIAN_INTERVAL_H_
