// What `plan` does with a config: jobs, tables, waves, scripts.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/emit/emit.h"
#include "lib/planning/emit/gce.h"
#include "lib/planning/plan_session.h"

namespace feedrate {

struct PlanOptions {
  PlanInputs inputs;
  // `jobs`, `table`, `waves` or `resolved`, or the kind of a campaign: `shell`,
  // `make`, `slurm`, `kubernetes` or `gce`.
  std::string emit = "jobs";
  // How waves are printed: `text` or `jsonl`.
  std::string format = "text";
  // Settings for campaigns.
  CampaignOptions campaign;
  GceOptions gce;
  KubernetesOptions kubernetes;
  // Says what the campaign would take under the session's quota, instead of
  // emitting it. `waves` and `gce` run wave by wave, the others as a queue.
  bool simulate = false;
  // Failures of a machine in an hour.
  double failure_rate = 0;
  // A file, `-` for standard output, or a folder, which a campaign needs.
  std::string output = "-";
};

// Plans every config and writes what `emit` asks for. A folder as output gets
// the plan under its standard name, and the resolved config. Mistakes in all
// configs are found before the first line is written. InvalidArgument if a word
// in `options` is unknown.
absl::Status RunPlan(const PlanOptions& options);

// Prints the names of `libraries`, `transforms` or `configs`, one per line,
// from the configs folder: the given one, or that of `config`, if these are not
// empty.
absl::Status PrintNames(const std::string& what,
                        const std::string& configs_folder,
                        const std::string& config);

}  // namespace feedrate
