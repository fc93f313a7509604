// `plan --emit=gce`: a plan as machines of Google's cloud.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_GCE_H_
#define FEEDRATE_LIB_PLANNING_EMIT_GCE_H_

#include <string>

#include "absl/status/status.h"
#include "lib/planning/emit/campaign_folder.h"
#include "lib/planning/plan_session.h"

namespace feedrate {

// Where things are in the cloud.
struct GceOptions {
  // gs://NAME; file:///FOLDER keeps everything on this disk, for tests.
  std::string bucket;
  std::string project;
  // Tarball that dev/bundle.sh made.
  std::string bundle;
};

// Makes `folder`: a start-up script for each machine in vm/, launch.sh and
// collect.sh, which touch the cloud only with --run. InvalidArgument when an
// option is missing, or a config has no cloud section.
absl::Status EmitGce(const PlanSession& session, const CampaignOptions& options,
                     const GceOptions& gce, const std::string& folder,
                     std::string* summary);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EMIT_GCE_H_
