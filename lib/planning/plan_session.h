// Everything that planning a list of configs needs, read once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/load.h"
#include "lib/config/overrides.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/jobs.h"
#include "lib/records/job.pb.h"

namespace feedrate {

// The value of `PlanInputs::set` that stands for every config of a folder.
constexpr char kAllSets[] = "all";

// What is planned.
struct PlanInputs {
  // Config files; a folder stands for the .textproto files in it that belong
  // to one set.
  std::vector<std::string> configs;
  // The set to plan of a folder, or kAllSets. Empty: the one that is named like
  // the folder, or all configs where there is only one set.
  std::string set;
  Overrides overrides;
  // Row files or folders whose runs are not planned again.
  std::vector<std::string> existing;
  // Row files or folders to estimate from. `existing` is used as well.
  std::vector<std::string> rows;
  // Only rows of this machine count. Empty: any.
  std::string machine_profile;
  // Quota file. Empty: quotas/paper.textproto of the configs folder.
  std::string quota;
  // Folder with matrix and policy. Empty: found.
  std::string configs_folder;
  // Gets warnings, one line each.
  std::function<void(const std::string&)> warn;
};

struct ResolvedConfig {
  LoadedConfig loaded;
  RunConfig config;
};

// A quota that was checked, and where it came from.
struct LoadedQuota {
  Quota quota;
  std::string file;
};

class PlanSession {
 public:
  // Mistakes in all configs are found here. Reads each input once, so that
  // pipes will do. `inputs` outlives the session.
  static absl::StatusOr<std::unique_ptr<PlanSession>> Start(
      const PlanInputs& inputs);

  const std::vector<ResolvedConfig>& configs() const { return configs_; }
  const Catalogue& catalogue() const { return catalogue_; }

  // InvalidArgument, with the place, when a config's data set is a URL with a
  // password, signature or token. Call it before configs are written.
  absl::Status CheckNoSecrets() const;

  // The jobs of one of `configs()`, as ForEachJob.
  absl::Status Plan(const ResolvedConfig& config,
                    const PlanOutput& output) const;

  absl::StatusOr<LoadedQuota> LoadQuota() const;
  // What machines of the cloud do, config by config, not packed yet.
  absl::StatusOr<std::vector<WaveTask>> CloudTasks(
      const LoadedQuota& quota) const;

 private:
  PlanSession(const PlanInputs& inputs, Catalogue catalogue,
              PublishedNumbers published);
  PlanInput InputOf(const ResolvedConfig& config) const;
  absl::Status AddTasks(const ResolvedConfig& config, const LoadedQuota& quota,
                        std::vector<WaveTask>* tasks) const;

  const PlanInputs& inputs_;
  const Catalogue catalogue_;
  const PublishedNumbers published_;
  MeasuredCosts measured_;
  const CostModel cost_;
  ExistingRuns existing_;
  std::vector<ResolvedConfig> configs_;
};

}  // namespace feedrate
