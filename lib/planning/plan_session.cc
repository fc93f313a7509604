#include "lib/planning/plan_session.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
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
#include "lib/planning/needs.h"
#include "lib/planning/resolve.h"
#include "lib/planning/waves.h"
#include "lib/url/secrets.h"

namespace feedrate {
namespace {

// A config file, and the folder that it was found in, if one was named.
struct ConfigFile {
  std::string path;
  std::string folder;
};

absl::StatusOr<std::vector<ConfigFile>> ConfigFiles(
    const std::vector<std::string>& configs) {
  std::vector<ConfigFile> files;
  for (const std::string& config : configs) {
    const std::string path = FindConfig(config);
    if (!IsFolder(path)) {
      files.push_back({path, ""});
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> inside,
                     ListFiles(path, ".textproto", /*recursive=*/false));
    if (inside.empty()) {
      return absl::NotFoundError(
          absl::StrCat(path, ": no .textproto file in this folder"));
    }
    for (const std::string& file : inside) files.push_back({file, path});
  }
  if (files.empty()) {
    return absl::InvalidArgumentError(
        "no config; name one with --config=FILE, such as "
        "configs/demo.textproto");
  }
  return files;
}

// The set of a folder's configs that is planned: `wanted`, else the one that
// is named like the folder. `sets` has the number of configs of each set.
// Warns of what is left out.
absl::StatusOr<std::string> ChooseSet(const std::string& folder,
                                      const std::map<std::string, int>& sets,
                                      const PlanInputs& inputs) {
  if (inputs.set == kAllSets || (inputs.set.empty() && sets.size() == 1)) {
    return kAllSets;
  }
  const std::string set = inputs.set.empty()
                              ? BaseName(absl::StripSuffix(folder, "/"))
                              : inputs.set;
  std::vector<std::string> others;
  for (const auto& [name, count] : sets) {
    if (name != set) {
      others.push_back(absl::StrCat(
          name.empty() ? "configs without a set" : name, " (", count, ")"));
    }
  }
  if (others.size() == sets.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(folder, ": no config of set \"", set,
                     "\"; the folder has ", absl::StrJoin(others, ", "),
                     "; choose with --set=NAME, or --set=", kAllSets));
  }
  if (inputs.set.empty()) {
    inputs.warn(absl::StrCat(
        folder, ": planning set ", set, " (", sets.at(set),
        " configs); left out: ", absl::StrJoin(others, ", "), "; see --set"));
  }
  return set;
}

// Loads all of `files`, and leaves out those of other sets.
absl::StatusOr<std::vector<LoadedConfig>> LoadConfigs(
    const std::vector<ConfigFile>& files, const PlanInputs& inputs) {
  std::vector<LoadedConfig> all;
  std::map<std::string, std::map<std::string, int>> sets_of_folder;
  for (const ConfigFile& file : files) {
    ASSIGN_OR_RETURN(LoadedConfig loaded,
                     LoadConfig(file.path, inputs.overrides));
    if (!file.folder.empty()) {
      ++sets_of_folder[file.folder][loaded.config.set()];
    }
    all.push_back(std::move(loaded));
  }
  if (sets_of_folder.empty() && !inputs.set.empty()) {
    return absl::InvalidArgumentError(
        "--set chooses among the configs of a folder; name one with --config");
  }
  std::map<std::string, std::string> set_of_folder;
  for (const auto& [folder, sets] : sets_of_folder) {
    ASSIGN_OR_RETURN(set_of_folder[folder], ChooseSet(folder, sets, inputs));
  }
  std::vector<LoadedConfig> chosen;
  for (size_t i = 0; i < files.size(); ++i) {
    const auto set = set_of_folder.find(files[i].folder);
    if (set == set_of_folder.end() || set->second == kAllSets ||
        set->second == all[i].config.set()) {
      chosen.push_back(std::move(all[i]));
    }
  }
  return chosen;
}

// What `machine` has too little of, or empty.
std::string LackOf(const MachineType& machine, const Needs& needs) {
  constexpr double kGib = int64_t{1} << 30;
  const bool has_memory = !machine.has_memory_gib() ||
                          needs.memory_bytes() <= machine.memory_gib() * kGib;
  if (has_memory && needs.cpus <= machine.vcpus() &&
      needs.gpus <= machine.gpus() && needs.nodes == 1) {
    return "";
  }
  return absl::StrCat(
      machine.name(), " has ", machine.vcpus(), " CPUs, ", machine.gpus(),
      " GPUs and ",
      machine.has_memory_gib()
          ? absl::StrFormat("%.1f", machine.memory_gib() * kGib / 1e9)
          : "unknown",
      " GB, but the jobs need ", needs.ToText(),
      "; choose a larger machine, fewer items or fewer libraries");
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
  ASSIGN_OR_RETURN(const std::vector<ConfigFile> files,
                   ConfigFiles(inputs.configs));
  ASSIGN_OR_RETURN(const std::string folder,
                   FindConfigsFolder(inputs.configs_folder, files[0].path));
  ASSIGN_OR_RETURN(Catalogue catalogue, Catalogue::Load(folder));
  ASSIGN_OR_RETURN(PublishedNumbers published, PublishedNumbers::Load(folder));
  std::unique_ptr<PlanSession> session(
      new PlanSession(inputs, std::move(catalogue), std::move(published)));
  // All of them first: a mistake in the last config must not come after
  // half an hour of jobs of the first.
  ASSIGN_OR_RETURN(std::vector<LoadedConfig> chosen,
                   LoadConfigs(files, inputs));
  for (LoadedConfig& loaded : chosen) {
    ASSIGN_OR_RETURN(RunConfig config,
                     Resolve(loaded, session->catalogue_,
                             DescribeWithPython(session->catalogue_)));
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
  Needs needs;
  PlanOutput output;
  output.job = [&](const Job& job) {
    ASSIGN_OR_RETURN(const Needs more, NeedsOf(job, catalogue_));
    Include(more, &needs);
    const absl::Status added = cutter.Add(job);
    return added.ok() ? added
                      : places.Error("cloud.machine_type", added.message());
  };
  RETURN_IF_ERROR(Plan(config, output));
  const std::string lacks = LackOf(*machine, needs);
  if (!lacks.empty()) return places.Error("cloud.machine_type", lacks);
  for (WaveTask& task : cutter.Finish()) tasks->push_back(std::move(task));
  return absl::OkStatus();
}

}  // namespace feedrate
