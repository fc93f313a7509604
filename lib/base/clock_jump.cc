#include "lib/base/clock_jump.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <limits>

namespace feedrate {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
std::atomic<int64_t> jump_s{0};
// In nanoseconds of the monotonic clock.
std::atomic<int64_t> jump_at{kNever};

int Ask(clockid_t clock, timespec* now) {
  return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
}

int64_t MonotonicNs() {
  timespec now;
  Ask(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

ClockJump::ClockJump(absl::Duration jump, absl::Duration after) {
  jump_s = absl::ToInt64Seconds(jump);
  jump_at = MonotonicNs() + absl::ToInt64Nanoseconds(after);
}

ClockJump::~ClockJump() { jump_at = kNever; }

}  // namespace feedrate

// Replaces the function of the C library in the test program.
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const int result = feedrate::Ask(clock, now);
  if (clock == CLOCK_REALTIME &&
      feedrate::MonotonicNs() >= feedrate::jump_at.load()) {
    now->tv_sec += feedrate::jump_s.load();
  }
  return result;
}
