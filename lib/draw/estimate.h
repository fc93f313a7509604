// A number with how sure it is.
#ifndef FEEDRATE_LIB_DRAW_ESTIMATE_H_
#define FEEDRATE_LIB_DRAW_ESTIMATE_H_

#include "absl/types/optional.h"

namespace feedrate {

// The ends of an interval.
struct Whiskers {
  double low = 0;
  double high = 0;
};

// A value to draw. Absent: nothing is known of its spread, and no
// whisker is drawn.
struct Estimate {
  double value = 0;
  absl::optional<Whiskers> whiskers;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_DRAW_ESTIMATE_H_
