#include "lib/runner/train/train_config.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/runner/job_list.h"
#include "lib/runner/train/train_jobs.h"

namespace feedrate {

absl::StatusOr<TrainPlan> PlanTrainJobs(
    const std::string& config, const Overrides& overrides,
    const std::map<std::string, std::string>& settings,
    const std::string& configs_folder) {
  ASSIGN_OR_RETURN(const std::string folder,
                   FindConfigsFolder(configs_folder, config));
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load(folder));
  JobSource source;
  source.tool = "train";
  source.config = config;
  source.overrides = overrides;
  ASSIGN_OR_RETURN(JobList list, LoadJobList(source, catalogue));
  std::map<std::string, std::string> all = settings;
  // A field of the data in configs, a setting of a training.
  if (list.config.data().sample_ratio() != 1) {
    all.emplace("sample_ratio",
                absl::StrCat(list.config.data().sample_ratio()));
  }
  TrainPlan plan;
  ASSIGN_OR_RETURN(plan.jobs, WithSettings(list.jobs, all));
  plan.config = std::move(list.config);
  return plan;
}

}  // namespace feedrate
