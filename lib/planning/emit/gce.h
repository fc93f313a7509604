// `plan --emit=gce`: a plan as machines of Google's cloud, and the names of
// everything that a campaign puts there.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "lib/planning/emit/emit.h"
#include "lib/planning/plan_session.h"

namespace feedrate {

// Names of one run: one task on one machine. The only place that makes them:
// scripts get them as settings.
struct CloudPaths {
  // 32 hexadecimal digits that campaign and task decide, so that another start
  // finds what an earlier one has done.
  std::string run_id;
  // At most 63 characters, letters, digits and hyphens, as the cloud asks.
  std::string instance;
  // gs://BUCKET/augmentation-results/RUN_ID/ and what is in it.
  std::string folder;
  std::string jobs;
  std::string bootstrap;
  std::string rows;
  std::string log;
  std::string exit_code;
  std::string meta;
  // Seconds that machines of this run existed.
  std::string machine_s;
  std::string done;
  std::string failed;
  // Shared by all runs.
  std::string bundle;
  std::string archive;
  std::string env_cache;
};

// What they are made of.
struct CloudRun {
  // gs://NAME or file:///FOLDER, without a slash at its end.
  std::string bucket;
  std::string campaign_id;
  std::string task;
  std::string machine_type;
  // The config's object with the data set. Empty: none.
  std::string archive;
  // Digest of the bundle, and of what the Python environments depend on.
  std::string bundle_sha256;
  std::string env_key;
  // Image that the machine boots.
  std::string image_family;
};

CloudPaths PathsOfRun(const CloudRun& run);

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
