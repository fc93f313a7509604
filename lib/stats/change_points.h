// Lasting steps in a history of measurements.
#ifndef FEEDRATE_LIB_STATS_CHANGE_POINTS_H_
#define FEEDRATE_LIB_STATS_CHANGE_POINTS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace feedrate {

struct ChangePointOptions {
  // A step is reported when Student's t test between the stretches on both
  // sides gives at most this, after multiplying by the number of places where
  // the step could have been.
  double max_p_value = 0.001;
  // Smaller steps (logarithm) are not reported.
  double min_shift = 0.0198;
  // A stretch has at least so many points: fewer are a spike, not a change.
  // At least 2.
  size_t min_length = 3;
};

struct Step {
  // First point after it.
  size_t index = 0;
  // Mean after minus mean before, up to the next step on either side.
  double shift = 0;
  double p_value = 0;
  // First point from which the level is back to what it was before, within
  // half the shift; 0: it never was.
  size_t gone_at = 0;
};

// Finds steps in `values` (logarithms, in order). In the manner of E-divisive
// means as Apache Otava has it, without its random permutations: candidates
// split stretches where the energy distance between their halves is largest,
// in the whole history and in windows of it; then the weakest is taken back
// until a t test confirms each that is left.
//
// A single point that sticks out of its neighbours is held to the nearest of
// them first, and most points of a stretch have to take part in its step, so
// spikes are all but never reported (docs/compare_baseline.md). Deterministic.
std::vector<Step> FindSteps(absl::Span<const double> values,
                            const ChangePointOptions& options = {});

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STATS_CHANGE_POINTS_H_
