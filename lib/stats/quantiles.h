// Quantiles and trimmed means of samples.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"

namespace feedrate {

// The quantile `p` (0 to 1) at position p * (n - 1) of the sorted values, with
// linear interpolation, as in the public benchmark and NumPy's default.
// REQUIRES: values are not empty and hold no NaN.

// `sorted` is in ascending order.
double SortedQuantile(absl::Span<const double> sorted, double p);
// Reorders `values`. Takes linear time.
double SelectQuantile(absl::Span<double> values, double p);
// Works on a copy.
double Quantile(absl::Span<const double> values, double p);

// Quantile(values, 0.5).
double Median(absl::Span<const double> values);

// The mean without the lowest and highest fifth of the values; for three or
// four values, without the lowest and highest one. More precise than the
// median: for five normal samples its variance is 0.23 of one sample's (the
// median's is 0.29), and one outlier does not move it. Reorders `values`.
// REQUIRES: not empty.
double TrimmedMean(absl::Span<double> values);

// TrimmedMean of the logarithms: the typical time of one run.
// REQUIRES: not empty, all above 0.
double TypicalLog(absl::Span<const double> values);

// Quantiles of the pooled raw timings of many runs, in bounded memory. The
// quantiles of a pool are not the mean of its parts' quantiles, so the samples
// themselves are kept: exactly up to kExact, above that as counts in bins 0.2%
// wide, which gives quantiles within 0.1% (the last one is never off by more
// than its bin). The result does not depend on the order of the samples.
class SampleQuantiles {
 public:
  static constexpr size_t kExact = 4096;

  // Values that are not above 0 count as 0.
  void Add(double value);

  int64_t count() const { return count_; }
  // Interpolates linearly while samples are exact. REQUIRES: count() > 0, 0 <=
  // p <= 1.
  double Quantile(double p) const;

 private:
  void SpillIfFull();

  int64_t count_ = 0;
  // Empty once the samples are in bins.
  std::vector<double> values_;
  std::map<int32_t, int64_t> bins_;
};

}  // namespace feedrate
