// Finds lasting steps in a history of measurements.
#ifndef FEEDRATE_LIB_STATS_CHANGE_POINTS_H_
#define FEEDRATE_LIB_STATS_CHANGE_POINTS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace feedrate {

struct ChangePointOptions {
  // A step is reported when Student's t test between the stretches on both
  // sides gives at most this p-value, after multiplying by the number of places
  // where the step could have been.
  double max_p_value = 0.001;
  // Smaller steps (logarithm) are not reported.
  double min_shift = 0.0198;
  // Fewest points in a stretch: fewer are a spike, not a change. At least 2.
  size_t min_length = 3;
};

struct Step {
  // The first point after the step.
  size_t index = 0;
  // Mean after minus mean before, each up to the neighboring step.
  double shift = 0;
  double p_value = 0;
  // The first point from which the level is back to what it was before the
  // step, within half the shift. 0 means it never came back.
  size_t gone_at = 0;
};

// Finds steps in `values` (logarithms, in order). Follows E-divisive means as
// in Apache Otava, but without random permutations. Candidates split a stretch
// where the energy distance between its two parts is largest, in the whole
// history and in windows of it. Then the weakest candidate is dropped until a t
// test confirms all that are left.
//
// A single point that sticks out is first moved to the nearest of its
// neighbors, and most points of a stretch must share its step, so spikes are
// almost never reported (docs/compare_baseline.md). Deterministic.
std::vector<Step> FindSteps(absl::Span<const double> values,
                            const ChangePointOptions& options = {});

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_CHANGE_POINTS_H_
