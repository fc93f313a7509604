// The job that measures the harness itself.
#ifndef FEEDRATE_LIB_RUNNER_NULL_JOB_H_
#define FEEDRATE_LIB_RUNNER_NULL_JOB_H_

#include "lib/records/records.pb.h"

namespace feedrate {

// Whether the job is of that library, of which nothing is compared or limited.
bool IsNullJob(const Job& job);

// A job of the library `null` on the data and under the settings of `job`.
// Every run has one.
Job NullJob(const Job& job);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_NULL_JOB_H_
