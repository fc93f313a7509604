// Quantiles of samples that come in parts, in bounded memory.
#ifndef FEEDRATE_LIB_STATS_SAMPLE_QUANTILES_H_
#define FEEDRATE_LIB_STATS_SAMPLE_QUANTILES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"

namespace feedrate {

// Pools the raw timings of many runs. Quantiles of a pool are not the mean of
// the parts' quantiles, so the samples themselves are kept: exactly up to
// kExact, beyond that as counts in bins 0.2% wide, which gives quantiles within
// 0.1% (the last one is never off by more than its bin). What it says depends
// on the samples alone, not on their order or parts.
class SampleQuantiles {
 public:
  static constexpr size_t kExact = 4096;

  // Values that are not above 0 count as 0.
  void Add(double value);
  void Merge(const SampleQuantiles& other);

  int64_t count() const { return count_; }
  // Linear interpolation while exact. REQUIRES: count() > 0, 0 <= p <= 1.
  double Quantile(double p) const;

 private:
  void SpillIfFull();

  int64_t count_ = 0;
  // Empty once spilt into bins.
  std::vector<double> values_;
  std::map<int32_t, int64_t> bins_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_SAMPLE_QUANTILES_H_
