// Finds lasting steps in a history of measurements.
#pragma once

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
  // The last point before the step: index - 1, or, for what is left of a burst
  // after its end, the last point before the burst.
  size_t before = 0;
  // Level after minus level before, each up to the neighboring step.
  double shift = 0;
  double p_value = 0;
  // The first point from which the level is back to what it was before the
  // step, within half the shift. 0 means it never came back.
  size_t gone_at = 0;
};

// Finds steps in `values` (logarithms, in order). First the history is split
// into stretches by SplitByLevel. Then the weakest step is dropped until a t
// test confirms all that are left. Points far from the level of their stretch
// count as outliers: they do not move a level and hardly widen the test, so a
// burst hides no step. Four or more steps in a row that cancel each other are
// noise with two levels and are dropped, too. When a step goes away, but not
// to the level before, the rest is one more step. Deterministic. REQUIRES: all
// values are finite.
std::vector<Step> FindSteps(absl::Span<const double> values,
                            const ChangePointOptions& options = {});

// What a split into stretches costs. Each point costs its squared distance from
// the level of its stretch, in standard deviations, but at most `max_distance`
// squared. Each step costs `step`.
struct LevelCost {
  double noise = 1;
  double max_distance = 4;
  double step = 10;
  size_t min_length = 3;
};

// Returns the first points of all stretches but the first, for the cheapest
// split of `values` into stretches of at least `min_length` points. Levels are
// taken from the values. Empty when there are too few values.
std::vector<size_t> SplitByLevel(absl::Span<const double> values,
                                 const LevelCost& cost);

}  // namespace feedrate
