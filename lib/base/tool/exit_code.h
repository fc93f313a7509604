// Exit codes, and a clean end after Ctrl-C or SIGTERM.
#pragma once

#include "absl/status/status.h"

namespace feedrate {

enum class ExitCode : int {
  kDone = 0,
  // A flag, config or file that the caller has to fix.
  kCallersMistake = 1,
  // The call was correct, but the run failed.
  kRunFailed = 2,
  kCheckSaidNo = 3,
  kCannotTell = 4,
  // Nothing to compare, or invalid results.
  kInvalid = 5,
  kInterrupted = 130,
};

// Returns the exit code for a status: kCallersMistake for InvalidArgument,
// NotFound, FailedPrecondition, AlreadyExists and OutOfRange, kInterrupted for
// Cancelled, kRunFailed for other errors.
ExitCode ExitCodeOf(const absl::Status& status);

// Less than the 30 s that Slurm waits before it kills. A run that is not stuck
// ends within a second.
inline constexpr int kInterruptGraceSeconds = 10;

// While an Interrupt exists, the first SIGINT or SIGTERM does not end the
// process: the run polls this object, writes its last line and ends by itself.
// A second signal ends the process. At most one may exist at a time.
class Interrupt {
 public:
  // With a grace period, a run that is stuck, for example in a read from a disk
  // or a store that does not answer, is ended that many seconds after the first
  // signal, with exit_code().
  explicit Interrupt(int grace_s = 0);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Becomes readable at the first signal.
  int fd() const;
  bool happened() const;
  // 130 for Ctrl-C, 2 for SIGTERM. REQUIRES: happened().
  ExitCode exit_code() const;
};

}  // namespace feedrate
