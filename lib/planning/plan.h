// What the program `plan` does, without its flags.
#ifndef FEEDRATE_LIB_PLANNING_PLAN_H_
#define FEEDRATE_LIB_PLANNING_PLAN_H_

#include <string>

#include "absl/status/status.h"
#include "lib/planning/emit/campaign_folder.h"
#include "lib/planning/emit/gce.h"
#include "lib/planning/plan_session.h"
#include "lib/records/record_io.h"

namespace feedrate {

struct PlanOptions {
  PlanInputs inputs;
  // `jobs`, `table`, `waves` or `resolved`; `shell`, `make`, `slurm` or `gce`.
  std::string emit = "jobs";
  // Of waves: `text` or `jsonl`.
  std::string format = "text";
  // Of campaigns.
  CampaignOptions campaign;
  GceOptions gce;
  // Says what the campaign would take under the session's quota, instead of
  // emitting it. `waves` and `gce` run wave by wave, the others as a queue.
  bool simulate = false;
  // Failures of a machine in an hour.
  double failure_rate = 0;
};

// InvalidArgument when a word in `options` is unknown.
absl::Status CheckPlanOptions(const PlanOptions& options);

// Whether `emit` makes a folder of scripts, with EmitCampaign.
bool IsCampaign(const std::string& emit);

// Plans every config and writes what `emit` asks for. Jobs are written as
// they are found; mistakes in all configs are found before the first is
// written. Reads each input once, so that pipes will do.
//
// `resolved`, where given, gets the resolved config as text. It and the emit
// of that name want exactly one config.
// REQUIRES: the options are right, and the emit is no campaign, or simulated.
absl::Status RunPlan(const PlanOptions& options, RecordWriter* out,
                     std::string* resolved = nullptr);

// Makes the folder of a campaign; `*summary` gets what was made.
// REQUIRES: the options are right, and the emit is a campaign.
absl::Status EmitCampaign(const PlanOptions& options, const std::string& folder,
                          std::string* summary);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_PLAN_H_
