// Lets a test set the wall clock of its own process, as an administrator or NTP
// sets that of a machine.
#pragma once

#include "absl/time/time.h"

namespace feedrate {

// While it exists, and from `after` its creation on, CLOCK_REALTIME is off by
// `jump` in this process. The monotonic clock is not changed. One at a time.
class ClockJump {
 public:
  ClockJump(absl::Duration jump, absl::Duration after);
  ~ClockJump();
  ClockJump(const ClockJump&) = delete;
  ClockJump& operator=(const ClockJump&) = delete;
};

}  // namespace feedrate
