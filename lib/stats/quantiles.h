// Quantiles of samples, with linear interpolation between order statistics.
#ifndef FEEDRATE_LIB_STATS_QUANTILES_H_
#define FEEDRATE_LIB_STATS_QUANTILES_H_

#include "absl/types/span.h"

namespace feedrate {

// The quantile `p` (0 to 1) at position p * (n - 1) of the sorted values, as
// the public benchmark and NumPy's default have it.
// REQUIRES: values are not empty and hold no NaN.

// `sorted` is in ascending order.
double SortedQuantile(absl::Span<const double> sorted, double p);
// Reorders `values`; linear in their number.
double SelectQuantile(absl::Span<double> values, double p);
// Works on a copy.
double Quantile(absl::Span<const double> values, double p);

// Quantile(values, 0.5).
double Median(absl::Span<const double> values);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_QUANTILES_H_
