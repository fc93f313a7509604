// `train` on a node that is not the first.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_FOLLOW_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_FOLLOW_H_

#include "absl/status/statusor.h"
#include "lib/base/exit_code.h"
#include "lib/runner/train/train_run.h"

namespace feedrate {

// Starts this rank's process of each training that rank 0 orders, until rank 0
// ends. Writes no rows: a process that fails here makes rank 0's fail too, and
// that is the row; here it is said on standard error.
// REQUIRES: options.step, and its rank above 0.
absl::StatusOr<ExitCode> FollowTrain(const TrainRunOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_FOLLOW_H_
