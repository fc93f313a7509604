// Measures how long something takes, for durations and time limits.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

#include "absl/time/time.h"

namespace feedrate {

// Nanoseconds of CLOCK_MONOTONIC.
inline int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * int64_t{1000000000} + now.tv_nsec;
}

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
