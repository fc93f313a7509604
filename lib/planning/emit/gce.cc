#include "lib/planning/emit/gce.h"

#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/config/policy.pb.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/hash/sha256.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/waves.h"
#include "lib/records/job.pb.h"
#include "lib/records/json.h"

namespace feedrate {
namespace {

constexpr size_t kRunIdDigits = 32;
constexpr size_t kKeyDigits = 16;
// Parts of an instance's name, so that the whole fits into 63 characters.
constexpr size_t kMachineTypeChars = 24;
constexpr size_t kInstanceDigits = 12;

}  // namespace

CloudPaths PathsOfRun(const CloudRun& run) {
  CloudPaths paths;
  paths.run_id = Sha256Hex(absl::StrCat(run.campaign_id, "\n", run.task))
                     .substr(0, kRunIdDigits);
  paths.instance =
      absl::StrCat("benchmark-", run.machine_type.substr(0, kMachineTypeChars),
                   "-", paths.run_id.substr(0, kInstanceDigits));
  paths.folder =
      absl::StrCat(run.bucket, "/augmentation-results/", paths.run_id, "/");
  paths.jobs = paths.folder + "jobs.jsonl";
  paths.bootstrap = paths.folder + "bootstrap.sh";
  paths.rows = absl::StrCat(paths.folder, "results/", run.task, ".jsonl");
  paths.log = paths.folder + "vm.log";
  paths.exit_code = paths.folder + "exit_code.txt";
  paths.meta = paths.folder + "run_meta.json";
  paths.machine_s = paths.folder + "machine_s.txt";
  paths.done = paths.folder + "DONE";
  paths.failed = paths.folder + "FAILED";
  paths.bundle =
      absl::StrCat(run.bucket, "/augmentation-cache/bundle-",
                   run.bundle_sha256.substr(0, kKeyDigits), ".tar.gz");
  if (!run.archive.empty()) {
    paths.archive = absl::StrCat(run.bucket, "/", run.archive);
  }
  paths.env_cache =
      absl::StrCat(run.bucket, "/augmentation-cache/venvs-", run.image_family,
                   "-", run.env_key.substr(0, kKeyDigits), ".tar.gz");
  return paths;
}

namespace {

// What a machine gets over the limit of its task, to tell the bucket.
constexpr double kLastWordsSeconds = 900;

absl::Status CheckOptions(const GceOptions& gce) {
  if (!absl::StartsWith(gce.bucket, "gs://") &&
      !absl::StartsWith(gce.bucket, "file:///")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bucket: \"", gce.bucket,
                     "\" is not a bucket; name one as gs://NAME"));
  }
  if (gce.project.empty()) {
    return absl::InvalidArgumentError(
        "--emit=gce needs --project=NAME, which pays for the machines");
  }
  if (!IsFile(gce.bundle)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--bundle: \"", gce.bundle,
                     "\" is not a file; make one with make bundle"));
  }
  return absl::OkStatus();
}

// A new machine has nothing but what the bucket has.
absl::Status CheckData(const PlanSession& session) {
  for (const ResolvedConfig& config : session.configs()) {
    const Data& data = config.config.data();
    const bool is_made = absl::StartsWith(data.dataset(), "synthetic:");
    if (is_made || !data.archive().empty()) continue;
    return config.loaded.places.Error(
        "data.archive",
        "is missing; machines of a cloud get their data set from the bucket");
  }
  return absl::OkStatus();
}

const Timeout& StepOf(const Policy& policy, const std::string& step) {
  for (const Timeout& timeout : policy.timeouts()) {
    if (timeout.step() == step) return timeout;
  }
  static const Timeout* const fallback = [] {
    auto* timeout = new Timeout;
    timeout->set_seconds(600);
    timeout->set_tries(3);
    timeout->set_interval_s(5);
    return timeout;
  }();
  return *fallback;
}

// Digest of all that the Python environments of `groups` depend on besides the
// machine. A machine that needs other groups has another cache.
absl::StatusOr<std::string> EnvKey(const std::string& configs,
                                   const std::string& env_set,
                                   const std::set<std::string>& groups) {
  std::string all = env_set;
  for (const std::string& group : groups) {
    const std::string lock = JoinPath(
        configs, absl::StrCat("requirements/", env_set, "/", group, ".lock"));
    ASSIGN_OR_RETURN(const std::string content, ReadFile(lock));
    absl::StrAppend(&all, "\n", group, "\n", content);
  }
  return Sha256Hex(all);
}

std::string Seconds(double seconds) {
  return absl::StrCat(static_cast<int64_t>(std::ceil(seconds)));
}

// Everything that scripts for one machine need to know.
class Machines {
 public:
  Machines(const PlanSession& session, const Campaign& campaign,
           const GceOptions& gce, const LoadedQuota& quota)
      : session_(session), campaign_(campaign), gce_(gce), quota_(quota) {}

  absl::Status Start() {
    ASSIGN_OR_RETURN(const std::string bundle, ReadFile(gce_.bundle));
    bundle_sha256_ = Sha256Hex(bundle);
    return ForEachCampaignJob(
        session_, campaign_, [&](const CampaignTask& task, const Job& job) {
          if (!job.env_group().empty() && !job.has_unsupported_reason()) {
            env_groups_[task.name].insert(job.env_group());
          }
          AppendRecord(job, &wave_jobs_[task.wave]);
          return absl::OkStatus();
        });
  }

  const std::map<int, std::string>& wave_jobs() const { return wave_jobs_; }
  const std::string& bundle_sha256() const { return bundle_sha256_; }

  absl::StatusOr<std::string> SettingsOf(const CampaignTask& task) const {
    const RunConfig& config = session_.configs()[task.config].config;
    const Policy& policy = session_.catalogue().policy();
    const MachineType& machine =
        *FindMachineType(quota_.quota, task.machine_type);
    CloudRun run;
    run.bucket = gce_.bucket;
    run.campaign_id = campaign_.id;
    run.task = task.name;
    run.machine_type = task.machine_type;
    run.archive = config.data().archive();
    run.bundle_sha256 = bundle_sha256_;
    ASSIGN_OR_RETURN(run.env_key,
                     EnvKey(session_.catalogue().configs_dir(),
                            config.selection().env_set(), GroupsOf(task)));
    run.image_family = machine.has_image_family()
                           ? machine.image_family()
                           : policy.cloud().image_family();
    ShellSettings settings;
    AddPaths(PathsOfRun(run), &settings);
    AddMachine(task, machine, config, &settings);
    settings.Set("IMAGE_FAMILY", run.image_family);
    AddTask(task, config, &settings);
    return settings.text();
  }

 private:
  static void AddPaths(const CloudPaths& paths, ShellSettings* settings) {
    settings->Set("RUN_ID", paths.run_id);
    settings->Set("INSTANCE", paths.instance);
    settings->Set("JOBS_URI", paths.jobs);
    settings->Set("BOOTSTRAP_URI", paths.bootstrap);
    settings->Set("ROWS_URI", paths.rows);
    settings->Set("LOG_URI", paths.log);
    settings->Set("EXIT_CODE_URI", paths.exit_code);
    settings->Set("META_URI", paths.meta);
    settings->Set("MACHINE_S_URI", paths.machine_s);
    settings->Set("DONE_URI", paths.done);
    settings->Set("FAILED_URI", paths.failed);
    settings->Set("BUNDLE_URI", paths.bundle);
    settings->Set("ARCHIVE_URI", paths.archive);
    settings->Set("ENV_CACHE_URI", paths.env_cache);
  }

  void AddMachine(const CampaignTask& task, const MachineType& machine,
                  const RunConfig& config, ShellSettings* settings) const {
    const Policy& policy = session_.catalogue().policy();
    const Cloud& cloud = config.cloud();
    settings->Set("PROJECT", gce_.project);
    settings->Set("ZONE", task.zone);
    settings->Set("MACHINE_TYPE", task.machine_type);
    settings->Set("PRICE_PER_HOUR", machine.has_price_per_hour()
                                        ? absl::StrCat(machine.price_per_hour())
                                        : "");
    settings->Set("IMAGE_PROJECT", machine.has_image_project()
                                       ? machine.image_project()
                                       : policy.cloud().image_project());
    settings->Set("DISK_SIZE_GB", absl::StrCat(task.disk_size_gb));
    settings->Set("BOOT_DISK_TYPE", machine.boot_disk_type());
    settings->Set("HAS_GPU", machine.gpus() > 0 ? "1" : "");
    settings->Set("PREEMPTIBLE", cloud.preemptible() ? "1" : "");
    settings->Set("KEEP_ON_FAILURE", cloud.keep_on_failure() ? "1" : "");
    settings->Set("KEEP", "");
    // The config's limit, else the estimate with the policy's margin.
    const CampaignPolicy& campaign = policy.campaign();
    const double limit_s = cloud.has_timeout_hours()
                               ? cloud.timeout_hours() * kSecondsPerHour
                               : campaign.task_setup_s() +
                                     campaign.time_margin() * task.chunk.cost_s;
    settings->Set("TIME_LIMIT_S", Seconds(limit_s));
    settings->Set("MACHINE_LIMIT_S",
                  Seconds(limit_s + SetupOf(quota_.quota) + kLastWordsSeconds));
  }

  // The environments that the jobs of `task` need.
  std::set<std::string> GroupsOf(const CampaignTask& task) const {
    const auto found = env_groups_.find(task.name);
    return found == env_groups_.end() ? std::set<std::string>() : found->second;
  }

  static double SetupOf(const Quota& quota) {
    return quota.has_setup_s() ? quota.setup_s() : kLastWordsSeconds;
  }

  void AddTask(const CampaignTask& task, const RunConfig& config,
               ShellSettings* settings) const {
    const Policy& policy = session_.catalogue().policy();
    const Data& data = config.data();
    settings->Set("TASK", task.name);
    settings->Set("TOOL", task.tool);
    settings->Set("DATASET", "");
    settings->Set("DATASET_ID", data.id());
    SetSubjects(config.selection(), settings);
    settings->Set("ARCHIVE_BYTES", data.has_archive_bytes()
                                       ? absl::StrCat(data.archive_bytes())
                                       : "");
    settings->Set("BUNDLE_SHA256", bundle_sha256_);
    settings->Set("ENV_SET", config.selection().env_set());
    const std::set<std::string> groups = GroupsOf(task);
    settings->SetList("ENV_GROUPS", {groups.begin(), groups.end()});
    settings->Set("NO_ENV_CACHE", "");
    settings->Set("REBUILD_ENV_CACHE", "");
    const Timeout& upload = StepOf(policy, "upload_small_artifact");
    settings->Set("TRIES", absl::StrCat(upload.tries()));
    settings->Set("TRY_INTERVAL_S", absl::StrCat(upload.interval_s()));
    settings->Set("COMMAND_LIMIT_S",
                  Seconds(StepOf(policy, "cloud_command").seconds()));
    settings->Set("SYNC_S",
                  Seconds(StepOf(policy, "results_sync").interval_s()));
  }

  const PlanSession& session_;
  const Campaign& campaign_;
  const GceOptions& gce_;
  const LoadedQuota& quota_;
  std::string bundle_sha256_;
  std::map<std::string, std::set<std::string>> env_groups_;
  std::map<int, std::string> wave_jobs_;
};

// campaign.env of the common part, and what launch.sh needs besides.
std::string LaunchSettings(const PlanSession& session, const GceOptions& gce,
                           const std::string& bundle_uri) {
  ShellSettings settings;
  settings.Comment("For launch.sh and collect.sh.");
  settings.Set("BUNDLE", gce.bundle);
  settings.Set("BUNDLE_URI", bundle_uri);
  settings.Set(
      "COMMAND_LIMIT_S",
      Seconds(
          StepOf(session.catalogue().policy(), "instance_create").seconds()));
  return settings.text();
}

absl::Status WriteWaves(const Campaign& campaign, const Machines& machines,
                        CampaignFolder* made) {
  std::map<int, std::string> lists;
  for (const CampaignTask& task : campaign.tasks) {
    absl::StrAppend(&lists[task.wave], task.name, "\n");
  }
  for (const auto& [wave, list] : lists) {
    const std::string path = absl::StrCat("waves/", wave);
    RETURN_IF_ERROR(made->Write(path + ".tasks", list));
    RETURN_IF_ERROR(
        made->Write(path + ".jsonl", machines.wave_jobs().at(wave)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitGce(const PlanSession& session, const CampaignOptions& options,
                     const GceOptions& gce, const std::string& folder,
                     std::string* summary) {
  RETURN_IF_ERROR(CheckOptions(gce));
  RETURN_IF_ERROR(CheckData(session));
  ASSIGN_OR_RETURN(const LoadedQuota quota, session.LoadQuota());
  ASSIGN_OR_RETURN(const Campaign campaign, CloudCampaign(session, quota));
  Machines machines(session, campaign, gce, quota);
  RETURN_IF_ERROR(machines.Start());
  ASSIGN_OR_RETURN(const std::unique_ptr<CampaignFolder> made,
                   CampaignFolder::Create(folder));
  RETURN_IF_ERROR(made->WriteTasks(session, campaign, options));
  for (const CampaignTask& task : campaign.tasks) {
    ASSIGN_OR_RETURN(const std::string settings, machines.SettingsOf(task));
    RETURN_IF_ERROR(
        made->Write(absl::StrCat("vm/", task.name, ".env"), settings));
    RETURN_IF_ERROR(
        made->WriteScript(absl::StrCat("vm/", task.name, ".sh"),
                          absl::StrReplaceAll(Template("gce_bootstrap.sh"),
                                              {{"# @SETTINGS@\n", settings}})));
  }
  CloudRun any;
  any.bucket = gce.bucket;
  any.bundle_sha256 = machines.bundle_sha256();
  RETURN_IF_ERROR(made->Write(
      "gce.env", LaunchSettings(session, gce, PathsOfRun(any).bundle)));
  RETURN_IF_ERROR(WriteWaves(campaign, machines, made.get()));
  RETURN_IF_ERROR(made->Write("gce_common.sh", Template("gce_common.sh")));
  RETURN_IF_ERROR(made->WriteScript("launch.sh", Template("gce_launch.sh")));
  RETURN_IF_ERROR(made->WriteScript("collect.sh", Template("gce_collect.sh")));
  *summary = absl::StrCat(
      folder, ": ", campaign.tasks.size(), " machines in ",
      campaign.tasks.back().wave, " waves, ",
      campaign.price.has_value()
          ? absl::StrFormat("estimated to cost %.2f", *campaign.price)
          : absl::StrCat("at an unknown cost (", quota.file,
                         " lacks a price_per_hour)"),
      "; launch.sh 1 prints the commands of the first, launch.sh 1 --run "
      "runs them\n");
  return made->Commit();
}

}  // namespace feedrate
