#include "lib/planning/plan_session.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/load.h"
#include "lib/config/places.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/planning/jobs.h"
#include "lib/planning/resolve.h"
#include "lib/planning/waves.h"
#include "lib/url/secrets.h"

namespace feedrate {
namespace {

absl::StatusOr<std::vector<std::string>> ConfigFiles(
    const std::vector<std::string>& configs) {
  std::vector<std::string> files;
  for (const std::string& path : configs) {
    if (!IsFolder(path)) {
      files.push_back(path);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> inside,
                     ListFiles(path, ".textproto", /*recursive=*/false));
    if (inside.empty()) {
      return absl::NotFoundError(
          absl::StrCat(path, ": no .textproto file in this folder"));
    }
    files.insert(files.end(), inside.begin(), inside.end());
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(
        "no config; name one with --config=FILE, such as "
        "configs/demo.textproto");
  }
  return files;
}

}  // namespace

PlanSession::PlanSession(const PlanInputs& inputs, Catalogue catalogue,
                         PublishedNumbers published)
    : inputs_(inputs),
      catalogue_(std::move(catalogue)),
      published_(std::move(published)),
      cost_(catalogue_.policy(), published_, &measured_),
      existing_(inputs.machine_profile) {}

absl::StatusOr<std::unique_ptr<PlanSession>> PlanSession::Start(
    const PlanInputs& inputs) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files,
                   ConfigFiles(inputs.configs));
  ASSIGN_OR_RETURN(const std::string folder,
                   FindConfigsFolder(inputs.configs_folder, files[0]));
  ASSIGN_OR_RETURN(Catalogue catalogue, Catalogue::Load(folder));
  ASSIGN_OR_RETURN(PublishedNumbers published, PublishedNumbers::Load(folder));
  std::unique_ptr<PlanSession> session(
      new PlanSession(inputs, std::move(catalogue), std::move(published)));
  // All of them first: a mistake in the last config must not come after
  // half an hour of jobs of the first.
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(LoadedConfig loaded, LoadConfig(file, inputs.overrides));
    ASSIGN_OR_RETURN(RunConfig config, Resolve(loaded, session->catalogue_));
    session->configs_.push_back({std::move(loaded), std::move(config)});
    RETURN_IF_ERROR(CheckJobs(session->InputOf(session->configs_.back())));
  }
  const auto learn = [&](const Row& row) {
    if (inputs.machine_profile.empty() ||
        row.machine_profile() == inputs.machine_profile) {
      session->measured_.Add(row);
    }
  };
  RETURN_IF_ERROR(ReadRows(inputs.existing, inputs.warn, [&](const Row& row) {
    session->existing_.Add(row);
    learn(row);
  }));
  RETURN_IF_ERROR(ReadRows(inputs.rows, inputs.warn, learn));
  return session;
}

absl::Status PlanSession::CheckNoSecrets() const {
  for (const ResolvedConfig& config : configs_) {
    const Data& data = config.config.data();
    for (const auto& [field, value] :
         {std::pair("data.dataset", &data.dataset()),
          std::pair("data.archive", &data.archive())}) {
      if (!HasUrlSecrets(*value)) continue;
      return config.loaded.places.Error(
          field,
          absl::StrCat(ShownUrl(*value),
                       " has a password, signature or token, which the files "
                       "of the plan would show; use s3:// or gs://, whose "
                       "credentials each machine has, or stage the data with "
                       "stage_dataset and name the folder"));
    }
  }
  return absl::OkStatus();
}

absl::Status PlanSession::Plan(const ResolvedConfig& config,
                               const PlanOutput& output) const {
  return ForEachJob(InputOf(config), output);
}

PlanInput PlanSession::InputOf(const ResolvedConfig& config) const {
  return {config.config, config.loaded.places, catalogue_, cost_,
          inputs_.existing.empty() ? nullptr : &existing_};
}

absl::StatusOr<LoadedQuota> PlanSession::LoadQuota() const {
  LoadedQuota loaded;
  loaded.file = inputs_.quota.empty() ? JoinPath(catalogue_.configs_dir(),
                                                 "quotas/paper.textproto")
                                      : inputs_.quota;
  Places places(loaded.file);
  RETURN_IF_ERROR(ReadTextProto(loaded.file, &loaded.quota, &places));
  RETURN_IF_ERROR(CheckQuota(loaded.quota, FieldChecker(places)));
  return loaded;
}

absl::StatusOr<std::vector<WaveTask>> PlanSession::CloudTasks(
    const LoadedQuota& quota) const {
  std::vector<WaveTask> tasks;
  for (const ResolvedConfig& config : configs_) {
    RETURN_IF_ERROR(AddTasks(config, quota, &tasks));
  }
  return tasks;
}

absl::Status PlanSession::AddTasks(const ResolvedConfig& config,
                                   const LoadedQuota& quota,
                                   std::vector<WaveTask>* tasks) const {
  const Places& places = config.loaded.places;
  if (!config.config.has_cloud()) {
    return places.Error("cloud", "is missing; waves need cloud.machine_type");
  }
  const std::string& name = config.config.cloud().machine_type();
  const MachineType* machine = FindMachineType(quota.quota, name);
  if (machine == nullptr) {
    std::vector<std::string> known;
    for (const MachineType& type : quota.quota.machine_types()) {
      known.push_back(type.name());
    }
    return places.Error("cloud.machine_type",
                        absl::StrCat("\"", name, "\" is not in ", quota.file,
                                     DidYouMean(name, known)));
  }
  TaskCutter cutter(config.loaded.path, config.config, *machine,
                    MaxTaskSeconds(quota.quota));
  PlanOutput output;
  output.job = [&](const Job& job) {
    const absl::Status added = cutter.Add(job);
    return added.ok() ? added
                      : places.Error("cloud.machine_type", added.message());
  };
  RETURN_IF_ERROR(Plan(config, output));
  for (WaveTask& task : cutter.Finish()) tasks->push_back(std::move(task));
  return absl::OkStatus();
}

}  // namespace feedrate
