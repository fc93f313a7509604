// `plan --emit=shell|make|slurm|kubernetes`: a plan as a folder of scripts.
// Also what every such folder needs: quoting for a shell, templates, Slurm
// arrays.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/config/policy.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/plan_session.h"

namespace feedrate {

// A file of assignments, to be read by `source`.
class ShellSettings {
 public:
  void Comment(absl::string_view text);
  void Set(absl::string_view name, absl::string_view value);
  // A bash array.
  void SetList(absl::string_view name, const std::vector<std::string>& words);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The code of the user that the jobs of a config may run, and its interpreter:
// a program that reads jobs from a file runs only what its flags name.
void SetSubjects(const Selection& selection, ShellSettings* settings);

// The scripts of a campaign, which are files in templates/.

// The file templates/NAME. REQUIRES: it is one of the BUILD file's list.
std::string Template(absl::string_view name);

// The same with each @KEY@ replaced by its value. Most templates need none of
// this: what differs between campaigns is in files that they source.
// REQUIRES: every key is in it, and nothing that looks like a key is left.
std::string FillTemplate(absl::string_view name,
                         const std::map<std::string, std::string>& values);

// What the folder of every campaign has: jobs, tasks, and the scripts that run
// a task and check the rows.

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

// Tasks as job arrays of Slurm.

struct SlurmArray {
  // The campaign's id, wave, kind of machine, and a number where the wave has
  // more tasks than an array may have. Also the name of the job.
  std::string name;
  // At least one; all of one wave and kind. The campaign owns them and outlives
  // this.
  std::vector<const CampaignTask*> tasks;
};

// All tasks of the campaign, at most `limit` in an array, in order.
std::vector<SlurmArray> SlurmArrays(const Campaign& campaign, int limit);

// Names of its tasks, one a line: task N of the array is line N + 1.
std::string TaskList(const SlurmArray& array);

// For sbatch. Asks for what the most demanding of its tasks needs, and for the
// estimated time of the longest with the policy's margin.
std::string BatchScript(const SlurmArray& array, const CampaignPolicy& policy);

// `D-HH:MM:SS` of at least so many seconds.
std::string SlurmTime(double seconds);

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

// How a Kubernetes cluster sees the campaign.
struct KubernetesOptions {
  // Image of the containers, with the bundle's programs in `image_bin`.
  std::string image;
  std::string image_bin = "/opt/feedrate/bin";
  // Claim of the volume that holds the campaign's folder and, after a slash,
  // the folder's path on the volume: "campaigns/rgb". Without a path, the
  // volume itself is the folder.
  std::string claim;
  // Where containers mount the folder.
  std::string mount = "/campaign";
  // Where containers have a disk of their node.
  std::string local = "/local";
};

// An Indexed Job for each wave and kind of machine, in jobs/. InvalidArgument
// when an option is missing, or a task needs several nodes.
absl::Status EmitKubernetes(const PlanSession& session,
                            const CampaignOptions& options,
                            const KubernetesOptions& kubernetes,
                            const std::string& folder, std::string* summary);

}  // namespace feedrate
