#include "lib/planning/plan.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/choice.h"
#include "lib/base/did_you_mean.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/catalogue/catalogue.h"
#include "lib/catalogue/published_numbers.h"
#include "lib/config/field_checker.h"
#include "lib/config/load.h"
#include "lib/config/places.h"
#include "lib/config/quota.pb.h"
#include "lib/config/run_config.pb.h"
#include "lib/config/text_proto.h"
#include "lib/planning/cost.h"
#include "lib/planning/existing_runs.h"
#include "lib/planning/jobs.h"
#include "lib/planning/plan_summary.h"
#include "lib/planning/quota_use.h"
#include "lib/planning/resolve.h"
#include "lib/planning/tasks.h"
#include "lib/planning/waves.h"
#include "lib/records/record_writer.h"

namespace feedrate {
namespace {

struct ResolvedConfig {
  LoadedConfig loaded;
  RunConfig config;
};

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

// Everything that planning needs, read once.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> Start(
      const PlanOptions& options) {
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     ConfigFiles(options.configs));
    ASSIGN_OR_RETURN(const std::string folder,
                     FindConfigsFolder(options.configs_folder, files[0]));
    ASSIGN_OR_RETURN(Catalogue catalogue, Catalogue::Load(folder));
    ASSIGN_OR_RETURN(PublishedNumbers published,
                     PublishedNumbers::Load(folder));
    std::unique_ptr<Session> session(
        new Session(options, std::move(catalogue), std::move(published)));
    // All of them first: a mistake in the last config must not come after
    // half an hour of jobs of the first.
    for (const std::string& file : files) {
      ASSIGN_OR_RETURN(LoadedConfig loaded,
                       LoadConfig(file, options.overrides));
      ASSIGN_OR_RETURN(RunConfig config, Resolve(loaded, session->catalogue_));
      session->configs_.push_back({std::move(loaded), std::move(config)});
      RETURN_IF_ERROR(CheckJobs(session->InputOf(session->configs_.back())));
    }
    RETURN_IF_ERROR(session->existing_.Read(options.existing, options.warn));
    return session;
  }

  const std::vector<ResolvedConfig>& configs() const { return configs_; }

  absl::Status WriteJobs(RecordWriter* out) const {
    PlanOutput output;
    output.job = [out](const Job& job) { return out->Write(job); };
    for (const ResolvedConfig& config : configs_) {
      RETURN_IF_ERROR(Plan(config, output));
    }
    return out->Finish();
  }

  absl::Status WriteTables(RecordWriter* out) const {
    for (const ResolvedConfig& config : configs_) {
      PlanSummary summary(config.loaded.path, config.config);
      PlanOutput output;
      output.job = [&](const Job& job) {
        summary.AddJob(job);
        return absl::OkStatus();
      };
      output.excluded = [&](const ExcludedCell& cell) {
        summary.AddExcluded(cell);
      };
      output.done = [&](const Job& job) { summary.AddDone(job); };
      RETURN_IF_ERROR(Plan(config, output));
      const bool is_first = &config == &configs_.front();
      RETURN_IF_ERROR(out->WriteText(
          absl::StrCat(is_first ? "" : "\n\n", summary.ToText())));
    }
    return absl::OkStatus();
  }

  absl::Status WriteWaves(RecordWriter* out) const {
    Quota quota;
    const std::string file =
        options_.quota.empty()
            ? JoinPath(catalogue_.configs_dir(), "quotas/paper.textproto")
            : options_.quota;
    Places places(file);
    RETURN_IF_ERROR(ReadTextProto(file, &quota, &places));
    RETURN_IF_ERROR(CheckQuota(quota, FieldChecker(places)));
    std::vector<WaveTask> tasks;
    for (const ResolvedConfig& config : configs_) {
      RETURN_IF_ERROR(AddTasks(config, quota, file, &tasks));
    }
    ASSIGN_OR_RETURN(const std::vector<Wave> waves,
                     PackWaves(std::move(tasks), quota, catalogue_.policy()));
    if (options_.format != "jsonl") return out->WriteText(WavesText(waves));
    for (const Wave& wave : waves) RETURN_IF_ERROR(out->Write(wave));
    return out->Finish();
  }

 private:
  Session(const PlanOptions& options, Catalogue catalogue,
          PublishedNumbers published)
      : options_(options),
        catalogue_(std::move(catalogue)),
        published_(std::move(published)),
        cost_(catalogue_.policy(), published_),
        existing_(options.machine_profile) {}

  absl::Status Plan(const ResolvedConfig& config,
                    const PlanOutput& output) const {
    return ForEachJob(InputOf(config), output);
  }

  PlanInput InputOf(const ResolvedConfig& config) const {
    return {config.config, config.loaded.places, catalogue_, cost_,
            options_.existing.empty() ? nullptr : &existing_};
  }

  absl::Status AddTasks(const ResolvedConfig& config, const Quota& quota,
                        const std::string& quota_file,
                        std::vector<WaveTask>* tasks) const {
    const Places& places = config.loaded.places;
    if (!config.config.has_cloud()) {
      return places.Error("cloud", "is missing; waves need cloud.machine_type");
    }
    const std::string& name = config.config.cloud().machine_type();
    const MachineType* machine = FindMachineType(quota, name);
    if (machine == nullptr) {
      std::vector<std::string> known;
      for (const MachineType& type : quota.machine_types()) {
        known.push_back(type.name());
      }
      return places.Error("cloud.machine_type",
                          absl::StrCat("\"", name, "\" is not in ", quota_file,
                                       DidYouMean(name, known)));
    }
    TaskCutter cutter(config.loaded.path, config.config, *machine,
                      MaxTaskSeconds(quota));
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

  const PlanOptions& options_;
  const Catalogue catalogue_;
  const PublishedNumbers published_;
  const CostModel cost_;
  ExistingRuns existing_;
  std::vector<ResolvedConfig> configs_;
};

absl::StatusOr<std::string> ResolvedTextOf(const Session& session) {
  if (session.configs().size() == 1) {
    return PrintTextProto(session.configs()[0].config);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--emit=resolved and a folder as --output take one config, not ",
      session.configs().size()));
}

}  // namespace

absl::Status RunPlan(const PlanOptions& options, RecordWriter* out,
                     std::string* resolved) {
  RETURN_IF_ERROR(CheckChoice("--format", options.format, {"text", "jsonl"}));
  RETURN_IF_ERROR(CheckChoice("--emit", options.emit,
                              {"jobs", "table", "waves", "resolved"}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                   Session::Start(options));
  if (resolved != nullptr) {
    ASSIGN_OR_RETURN(*resolved, ResolvedTextOf(*session));
  }
  if (options.emit == "table") return session->WriteTables(out);
  if (options.emit == "waves") return session->WriteWaves(out);
  if (options.emit == "jobs") return session->WriteJobs(out);
  ASSIGN_OR_RETURN(const std::string text, ResolvedTextOf(*session));
  return out->WriteText(text);
}

}  // namespace feedrate
