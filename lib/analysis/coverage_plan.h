// What a campaign owes: profiles and plans into jobs.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_PLAN_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_PLAN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/catalogue/catalogue.h"

namespace feedrate {

struct CoveragePlanOptions {
  // Path of a profile, see FindProfile. Empty: none.
  std::string profile;
  // File with job records, `-` for standard input. Empty: none.
  std::string plan;
  // Runs that every job of the profile owes. 0: what its config asks.
  int32_t num_runs = 0;
  bool require_optional_libraries = false;
  // Gets what is worth knowing, one line each.
  std::function<void(const std::string&)> warn;
};

// The file of `coverage`: a path, or a name such as `full-paper` out of
// CONFIGS_DIR/coverage/. InvalidArgument with what may have been meant.
absl::StatusOr<std::string> FindProfile(const std::string& coverage,
                                        const std::string& configs_dir);

// The jobs that are owed, as lib/planning makes them. InvalidArgument names
// the place of what is wrong; a plan with a broken line is wrong, because a
// job that cannot be read is one that would not be missed.
absl::StatusOr<PlannedJobs> LoadCoveragePlan(const CoveragePlanOptions& options,
                                             const Catalogue& catalogue);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_PLAN_H_
