// What the folder of every campaign has: jobs, tasks, and the scripts that run
// a task and check the rows.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_CAMPAIGN_FOLDER_H_
#define FEEDRATE_LIB_PLANNING_EMIT_CAMPAIGN_FOLDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/plan_session.h"

namespace feedrate {

struct CampaignOptions {
  // Estimated seconds of a task. 0: the policy's.
  double task_s = 0;
  // Words put before the runner, such as `apptainer exec image.sif`.
  std::string container;
  // Tasks in an array of Slurm. 0: the policy's.
  int array_limit = 0;
  // Folder of the programs. Empty: the running program's own.
  std::string bin;
};

// A folder that appears under its name only when it is whole.
class CampaignFolder {
 public:
  // AlreadyExists when the folder is there and not empty: it may hold rows.
  static absl::StatusOr<std::unique_ptr<CampaignFolder>> Create(
      const std::string& path);
  ~CampaignFolder();

  absl::Status Write(const std::string& name, absl::string_view content);
  // Executable.
  absl::Status WriteScript(const std::string& name, absl::string_view content);

  // jobs.jsonl; tasks/NAME.jsonl and tasks/NAME.env of every task;
  // campaign.env; common.sh, run_task.sh, check.sh, again.sh.
  absl::Status WriteTasks(const PlanSession& session, const Campaign& campaign,
                          const CampaignOptions& options);

  // To be called once, after everything is written.
  absl::Status Commit();

 private:
  CampaignFolder(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}
  absl::Status WriteJobs(const PlanSession& session, const Campaign& campaign);

  const std::string path_;
  const std::string temporary_;
  bool committed_ = false;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EMIT_CAMPAIGN_FOLDER_H_
