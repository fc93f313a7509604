// Where paired differences lie: the Hodges-Lehmann estimate and its interval.
#ifndef FEEDRATE_LIB_STATS_SIGNED_RANK_H_
#define FEEDRATE_LIB_STATS_SIGNED_RANK_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "lib/stats/median_interval.h"

namespace feedrate {

struct Location {
  // The median of the means of all two (a value with itself included). Loses
  // 5% to the mean where noise is normal, and is not moved by wild values.
  double estimate = 0;
  // Holds the middle of a symmetric distribution in at least `confidence` of
  // experiments, by the ranks of Wilcoxon's test. Where there are too few
  // values for that (below 8 at 99%) Student's interval. None for one value.
  absl::optional<Interval> interval;
};

// REQUIRES: `values` not empty, 0.5 < confidence < 1.
Location LocationOf(absl::Span<const double> values, double confidence);

// How many of the sorted means lie below the interval's lower end, and as many
// above its upper one, for `n` values. -1: too few values.
int64_t MeansOutside(int n, double confidence);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_SIGNED_RANK_H_
