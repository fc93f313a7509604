// Names of everything that a campaign puts into a cloud. The only place that
// makes them: scripts get them as settings.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_CLOUD_PATHS_H_
#define FEEDRATE_LIB_PLANNING_EMIT_CLOUD_PATHS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// Of one run: one task on one machine.
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

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EMIT_CLOUD_PATHS_H_
