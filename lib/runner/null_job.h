// The job that measures the harness itself.
#ifndef FEEDRATE_LIB_RUNNER_NULL_JOB_H_
#define FEEDRATE_LIB_RUNNER_NULL_JOB_H_

#include "lib/records/records.pb.h"

namespace feedrate {

// A job of the library `null` on the data and under the settings of `job`.
// Every run has one.
Job NullJob(const Job& job);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_NULL_JOB_H_
