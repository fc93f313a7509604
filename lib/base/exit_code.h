// What a program's exit means to the shell, make and CI that called it.
#ifndef FEEDRATE_LIB_BASE_EXIT_CODE_H_
#define FEEDRATE_LIB_BASE_EXIT_CODE_H_

#include "absl/status/status.h"

namespace feedrate {

enum class ExitCode : int {
  kDone = 0,
  // A flag, config or file that the caller has to mend.
  kCallersMistake = 1,
  // The call was right; the run failed.
  kRunFailed = 2,
  kCheckSaidNo = 3,
  kCannotTell = 4,
  // Nothing comparable, or invalid.
  kInvalid = 5,
  kInterrupted = 130,
};

// The code for a body that ended in an error: what was asked is wrong
// (InvalidArgument, NotFound, FailedPrecondition, AlreadyExists, OutOfRange)
// or it could not be done.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_EXIT_CODE_H_
