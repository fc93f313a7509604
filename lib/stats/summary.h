// What a few numbers say about where they come from.
#ifndef FEEDRATE_LIB_STATS_SUMMARY_H_
#define FEEDRATE_LIB_STATS_SUMMARY_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/stats/median_interval.h"

namespace feedrate {

struct Summary {
  int64_t n = 0;
  // The headline number.
  double median = 0;
  double mean = 0;
  // Of the sample (n - 1). 0 for one value, as in the public benchmark.
  double sd = 0;
  // sd / mean; 0 when the mean is 0.
  double cv = 0;
  double min = 0;
  double max = 0;
  // 95% interval of the median. None for fewer than three values.
  absl::optional<Interval> interval;
};

// The same bits for the same values in any order. Reorders `values`, linear in
// their number. REQUIRES: not empty, all finite.
Summary Summarize(absl::Span<double> values);

// exp of the mean logarithm. REQUIRES: not empty, all above 0.
double GeometricMean(absl::Span<const double> values);

// A 95% interval of the geometric mean of the distribution that `values` come
// from: Student's t of the logarithms. None for fewer than three.
absl::optional<Interval> GeometricMeanInterval(absl::Span<const double> values);

// Standard deviation of the logarithms; 0 for fewer than two values.
// REQUIRES: all above 0.
double LogDeviation(absl::Span<const double> values);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_SUMMARY_H_
