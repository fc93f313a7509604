// The middle of a few timings: robust, yet sharper than the median.
#ifndef FEEDRATE_LIB_STATS_TRIMMED_MEAN_H_
#define FEEDRATE_LIB_STATS_TRIMMED_MEAN_H_

#include "absl/types/span.h"

namespace feedrate {

// The mean without the lowest and highest fifth, of three or four values
// without the lowest and highest one. Of five normal samples its variance is
// 0.23 of one sample's, the median's 0.29, and one wild sample does not move
// it. Reorders `values`. REQUIRES: not empty.
double TrimmedMean(absl::Span<double> values);

// TrimmedMean of the logarithms: what one run says about the typical time.
// REQUIRES: not empty, all above 0.
double TypicalLog(absl::Span<const double> values);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_TRIMMED_MEAN_H_
