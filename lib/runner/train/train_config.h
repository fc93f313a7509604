// Jobs of mode `train` out of a run config.
#ifndef FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_CONFIG_H_
#define FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_CONFIG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/override_flags.h"
#include "lib/config/run_config.pb.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct TrainPlan {
  std::vector<Job> jobs;
  // As `Resolve` gives it.
  RunConfig config;
};

// What `plan` makes of the config with the overrides, and `settings` laid over
// it. The matrix is in `configs_folder`; empty: found. InvalidArgument names
// the place of a mistake.
absl::StatusOr<TrainPlan> PlanTrainJobs(
    const std::string& config, const Overrides& overrides,
    const std::map<std::string, std::string>& settings,
    const std::string& configs_folder);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_TRAIN_TRAIN_CONFIG_H_
