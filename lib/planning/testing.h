// Planning with the checked-in matrix, policy and numbers, for tests.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/config/overrides.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/cells.h"
#include "lib/planning/jobs.h"
#include "lib/records/job.pb.h"

namespace feedrate {

// REQUIRES, here and below: the test has //configs as data.
const Catalogue& CheckedInCatalogue();
const CostModel& CheckedInCost();

// Every run config below configs/, sorted.
std::vector<std::string> CheckedInConfigs();
// configs/paper/NAME.textproto.
std::string PaperConfig(const std::string& name);

// `text` as if it stood in a file called `f`. Fails the test when it does not
// parse.
LoadedConfig LoadText(const std::string& text);

absl::StatusOr<RunConfig> ResolveText(const std::string& text);

// All that comes out of planning one config.
struct Planned {
  absl::Status status;
  RunConfig config;
  std::vector<Job> jobs;
  std::vector<ExcludedCell> excluded;
  std::vector<Job> done;

  // Jobs of one library.
  int Count(const std::string& library) const;
  // The job of a cell, or nullptr.
  const Job* Find(const std::string& library,
                  const std::string& transform) const;
  bool IsExcluded(const std::string& library,
                  const std::string& transform) const;
};

Planned PlanLoaded(const LoadedConfig& loaded,
                   const ExistingRuns* existing = nullptr);
Planned PlanText(const std::string& text,
                 const ExistingRuns* existing = nullptr);
Planned PlanFile(const std::string& path, const Overrides& overrides = {});

}  // namespace feedrate
