// Measures how long something takes, for durations and time limits.
#pragma once

#include <chrono>

#include "absl/time/time.h"

namespace feedrate {

// Runs from its creation. Uses the monotonic clock: when somebody sets the wall
// clock, which absl::Now() shows, no limit is reached early or late.
class Stopwatch {
 public:
  absl::Duration Elapsed() const {
    return absl::FromChrono(std::chrono::steady_clock::now() - start_);
  }
  double Seconds() const { return absl::ToDoubleSeconds(Elapsed()); }

 private:
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace feedrate
