// What a runner is asked to do: jobs from a pipe, a file, or a config.
#ifndef FEEDRATE_LIB_RUNNER_JOB_LIST_H_
#define FEEDRATE_LIB_RUNNER_JOB_LIST_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/override_flags.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct JobSource {
  // The program that asks, such as `micro`.
  std::string tool;
  // A config to plan from. Empty: jobs are read.
  std::string config;
  // File with jobs; `-` is standard input. With a config: only those of its
  // jobs that are in this file as well, unless it is `-`.
  std::string jobs = "-";
  Overrides overrides;
  // Gets warnings, one line each.
  std::function<void(const std::string&)> warn;
};

struct JobList {
  std::vector<Job> jobs;
  // As `Resolve` gives it. Of jobs that came ready only what flags say.
  RunConfig config;
  // Where the data is. Empty: where the jobs' ids say.
  std::string dataset;
};

// InvalidArgument when there are none, one is for another program (which the
// message names), or flags would change jobs that are planned already.
absl::StatusOr<JobList> LoadJobList(const JobSource& source,
                                    const Catalogue& catalogue);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_JOB_LIST_H_
