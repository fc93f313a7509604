// A resolved config as jobs, one after the other.
#ifndef FEEDRATE_LIB_PLANNING_JOBS_H_
#define FEEDRATE_LIB_PLANNING_JOBS_H_

#include <functional>

#include "absl/status/status.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/places.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/cells.h"
#include "lib/planning/cost.h"
#include "lib/planning/existing_runs.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// What goes into planning one config. Everything outlives the call.
struct PlanInput {
  // From Resolve.
  const RunConfig& config;
  // Where its fields came from, for errors.
  const Places& places;
  const Catalogue& catalogue;
  const CostModel& cost;
  // Runs not to plan again. Null: none.
  const ExistingRuns* existing = nullptr;
};

// What comes out, as it is found. An error from a callback ends the planning.
struct PlanOutput {
  std::function<absl::Status(const Job&)> job;
  // A cell without a job, once for each device, scope and profile.
  // Null: not wanted.
  std::function<void(const ExcludedCell&)> excluded;
  // A job whose runs are all done. Null: not wanted.
  std::function<void(const Job&)> done;
};

// InvalidArgument when the matrix does not allow what the config asks for, at
// any point of its sweep. What passes can be planned.
absl::Status CheckJobs(const PlanInput& input);

// Calls `output` for each job: point of the sweep by point, transform by
// transform, library by library. Holds one job at a time. No two have the same
// id. Fails as CheckJobs does, before the first job.
absl::Status ForEachJob(const PlanInput& input, const PlanOutput& output);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_JOBS_H_
