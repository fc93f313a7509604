// `plan --emit=shell|make|slurm`: a plan as a folder of scripts.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_EMIT_H_
#define FEEDRATE_LIB_PLANNING_EMIT_EMIT_H_

#include <string>

#include "absl/status/status.h"
#include "lib/planning/emit/campaign_folder.h"
#include "lib/planning/plan_session.h"

namespace feedrate {

// Each makes `folder`, which must not be there yet, or be empty. `*summary`
// gets what was made and what to do with it, in a line or two.

// run.sh runs one task after the other.
absl::Status EmitShell(const PlanSession& session,
                       const CampaignOptions& options,
                       const std::string& folder, std::string* summary);
// A Makefile for GNU make -jN.
absl::Status EmitMake(const PlanSession& session,
                      const CampaignOptions& options, const std::string& folder,
                      std::string* summary);
// An array for each wave and kind of machine, and a Makefile that submits,
// collects and submits again.
absl::Status EmitSlurm(const PlanSession& session,
                       const CampaignOptions& options,
                       const std::string& folder, std::string* summary);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EMIT_EMIT_H_
