// The libraries that a run needs: found, left out, loaded.
#ifndef FEEDRATE_LIB_RUNNER_LIBRARIES_H_
#define FEEDRATE_LIB_RUNNER_LIBRARIES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/draw/progress.h"
#include "lib/records/records.pb.h"
#include "lib/runner/server_pool.h"

namespace feedrate {

using Warn = std::function<void(const std::string&)>;

// Adds the jobs' libraries to `servers`. One whose program or environment is
// missing is NotFound with what to run; with `skip_missing` its jobs are taken
// out of `jobs`, and `warn` hears of it.
absl::Status AddLibraries(bool skip_missing, const Warn& warn,
                          ServerPool* servers, std::vector<Job>* jobs);

// Waits until all have loaded. One that does not costs its own rows; `warn`
// hears why, once. Fails only when interrupted.
absl::Status WaitForLibraries(const std::vector<Job>& jobs, const Warn& warn,
                              Progress* progress, ServerPool* servers);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_LIBRARIES_H_
