#include "lib/planning/emit/run_plan.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/text_proto.h"
#include "lib/config/transforms.pb.h"
#include "lib/planning/emit/simulate.h"
#include "lib/planning/jobs.h"
#include "lib/planning/needs.h"
#include "lib/planning/plan_summary.h"
#include "lib/planning/waves.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"

namespace feedrate {
namespace {

const char* const kCampaigns[] = {"shell", "make", "slurm", "kubernetes",
                                  "gce"};

// Simulations with failures. More of them hardly move the median.
constexpr int kSimulations = 21;

absl::Status WriteJobs(const PlanSession& session, RecordWriter* out) {
  PlanOutput output;
  output.job = [out](const Job& job) { return out->Write(job); };
  for (const ResolvedConfig& config : session.configs()) {
    RETURN_IF_ERROR(session.Plan(config, output));
  }
  return out->Finish();
}

absl::Status WriteTables(const PlanSession& session, RecordWriter* out) {
  for (const ResolvedConfig& config : session.configs()) {
    PlanSummary summary(config.loaded.path, config.config);
    PlanOutput output;
    output.job = [&](const Job& job) {
      summary.AddJob(job);
      ASSIGN_OR_RETURN(const Needs needs, NeedsOf(job, session.catalogue()));
      summary.AddNeeds(needs);
      return absl::OkStatus();
    };
    output.excluded = [&](const ExcludedCell& cell) {
      summary.AddExcluded(cell);
    };
    output.done = [&](const Job& job) { summary.AddDone(job); };
    RETURN_IF_ERROR(session.Plan(config, output));
    const bool is_first = &config == &session.configs().front();
    RETURN_IF_ERROR(out->WriteText(absl::StrCat(
        is_first ? "" : "\n\n", PrintableLines(summary.ToText()))));
  }
  return absl::OkStatus();
}

absl::Status WriteWaves(const PlanSession& session, const std::string& format,
                        RecordWriter* out) {
  ASSIGN_OR_RETURN(const LoadedQuota quota, session.LoadQuota());
  ASSIGN_OR_RETURN(std::vector<WaveTask> tasks, session.CloudTasks(quota));
  ASSIGN_OR_RETURN(
      const std::vector<Wave> waves,
      PackWaves(std::move(tasks), quota.quota, session.catalogue().policy()));
  if (format != "jsonl")
    return out->WriteText(PrintableLines(WavesText(waves)));
  for (const Wave& wave : waves) RETURN_IF_ERROR(out->Write(wave));
  return out->Finish();
}

absl::Status WriteSimulation(const PlanSession& session,
                             const PlanOptions& options, RecordWriter* out) {
  ASSIGN_OR_RETURN(const LoadedQuota quota, session.LoadQuota());
  SimulationOptions simulation;
  simulation.failures_per_hour = options.failure_rate;
  simulation.checkpoint_s =
      session.catalogue().policy().campaign().checkpoint_s();
  simulation.in_waves = options.emit == "waves" || options.emit == "gce";
  ASSIGN_OR_RETURN(const Campaign campaign,
                   simulation.in_waves
                       ? CloudCampaign(session, quota)
                       : ClusterCampaign(session, options.campaign.task_s));
  ASSIGN_OR_RETURN(
      const std::string text,
      SimulateText(session, campaign, quota, simulation, kSimulations));
  return out->WriteText(text);
}

absl::StatusOr<std::string> ResolvedTextOf(const PlanSession& session) {
  if (session.configs().size() == 1) {
    RETURN_IF_ERROR(session.CheckNoSecrets());
    return PrintTextProto(session.configs()[0].config);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--emit=resolved and a folder as --output take one config, not ",
      session.configs().size()));
}

// Whether `emit` makes a folder of scripts, with EmitCampaign.
bool IsCampaign(const std::string& emit) {
  return std::find(std::begin(kCampaigns), std::end(kCampaigns), emit) !=
         std::end(kCampaigns);
}

// InvalidArgument when a word in `options` is unknown.
absl::Status CheckPlanOptions(const PlanOptions& options) {
  RETURN_IF_ERROR(CheckChoice("--format", options.format, {"text", "jsonl"}));
  std::vector<std::string> emits = {"jobs", "table", "waves", "resolved"};
  emits.insert(emits.end(), std::begin(kCampaigns), std::end(kCampaigns));
  RETURN_IF_ERROR(CheckChoice("--emit", options.emit, emits));
  if (options.campaign.task_s < 0 || options.campaign.array_limit < 0) {
    return absl::InvalidArgumentError(
        "--task_s and --array_limit must be at least 0");
  }
  if (options.failure_rate < 0) {
    return absl::InvalidArgumentError("--failure_rate must be at least 0");
  }
  return absl::OkStatus();
}

// Plans every config and writes what `emit` asks for. Jobs are written as
// they are found; mistakes in all configs are found before the first is
// written. Reads each input once, so that pipes will do.
//
// `resolved`, where given, gets the resolved config as text. It and the emit
// of that name want exactly one config.
// REQUIRES: the options are right; a campaign is to be simulated.
absl::Status WritePlan(const PlanOptions& options, RecordWriter* out,
                       std::string* resolved = nullptr) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PlanSession> session,
                   PlanSession::Start(options.inputs));
  if (resolved != nullptr) {
    ASSIGN_OR_RETURN(*resolved, ResolvedTextOf(*session));
  }
  if (options.simulate) return WriteSimulation(*session, options, out);
  if (options.emit == "table") return WriteTables(*session, out);
  if (options.emit == "waves") {
    return WriteWaves(*session, options.format, out);
  }
  if (options.emit == "jobs") return WriteJobs(*session, out);
  ASSIGN_OR_RETURN(const std::string text, ResolvedTextOf(*session));
  return out->WriteText(text);
}

// Makes the folder of a campaign; `*summary` gets what was made.
// REQUIRES: the options are right, and the emit is a campaign.
absl::Status EmitCampaign(const PlanOptions& options, const std::string& folder,
                          std::string* summary) {
  ASSIGN_OR_RETURN(const std::unique_ptr<PlanSession> session,
                   PlanSession::Start(options.inputs));
  if (options.emit == "make") {
    return EmitMake(*session, options.campaign, folder, summary);
  }
  if (options.emit == "slurm") {
    return EmitSlurm(*session, options.campaign, folder, summary);
  }
  if (options.emit == "kubernetes") {
    return EmitKubernetes(*session, options.campaign, options.kubernetes,
                          folder, summary);
  }
  if (options.emit == "gce") {
    return EmitGce(*session, options.campaign, options.gce, folder, summary);
  }
  return EmitShell(*session, options.campaign, folder, summary);
}

absl::Status MakeCampaign(const PlanOptions& options,
                          const std::string& folder) {
  if (folder == "-") {
    return absl::InvalidArgumentError(
        absl::StrCat("--emit=", options.emit,
                     " makes a folder of scripts; name it with "
                     "--output=FOLDER"));
  }
  std::string summary;
  RETURN_IF_ERROR(EmitCampaign(options, folder, &summary));
  std::cerr << "plan: " << PrintableLines(summary);
  return absl::OkStatus();
}

absl::Status PlanIntoFile(const PlanOptions& options, const std::string& path,
                          std::string* resolved = nullptr) {
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(path));
  RecordWriter writer(file->fd(), path, RecordWriter::Flush::kWhenFull);
  RETURN_IF_ERROR(WritePlan(options, &writer, resolved));
  return file->Commit();
}

// A folder gets the plan under its standard name, and the resolved config.
absl::Status PlanIntoFolder(const PlanOptions& options,
                            const std::string& folder) {
  if (options.emit == "jobs") {
    std::string resolved;
    RETURN_IF_ERROR(
        PlanIntoFile(options, JoinPath(folder, kJobsName), &resolved));
    return WriteFileAtomically(JoinPath(folder, kResolvedConfigName), resolved);
  }
  return PlanIntoFile(options, JoinPath(folder, options.emit == "resolved"
                                                    ? kResolvedConfigName
                                                    : options.emit + ".txt"));
}

}  // namespace

absl::Status RunPlan(const PlanOptions& options) {
  const std::string& output = options.output;
  RETURN_IF_ERROR(CheckPlanOptions(options));
  if (IsCampaign(options.emit) && !options.simulate) {
    return MakeCampaign(options, output);
  }
  if (output == "-") {
    RecordWriter writer(STDOUT_FILENO, "standard output",
                        RecordWriter::Flush::kWhenFull);
    return WritePlan(options, &writer);
  }
  if (!IsFolder(output) && !absl::EndsWith(output, "/")) {
    return PlanIntoFile(options, output);
  }
  RETURN_IF_ERROR(MakeFolder(output));
  return PlanIntoFolder(options, output);
}

absl::Status PrintNames(const std::string& what,
                        const std::string& configs_folder,
                        const std::string& config) {
  RETURN_IF_ERROR(
      CheckChoice("--list", what, {"libraries", "transforms", "configs"}));
  ASSIGN_OR_RETURN(const std::string folder,
                   FindConfigsFolder(configs_folder, config));
  ASSIGN_OR_RETURN(const Catalogue catalogue, Catalogue::Load(folder));
  std::vector<std::string> names;
  if (what == "libraries") {
    for (const Library& library : catalogue.matrix().libraries()) {
      names.push_back(library.name());
    }
  } else if (what == "transforms") {
    for (const Scenario& scenario : catalogue.matrix().scenarios()) {
      if (!scenario.has_transforms()) continue;
      ASSIGN_OR_RETURN(const TransformSet* set, catalogue.Transforms(scenario));
      for (const Transform& transform : set->transforms()) {
        names.push_back(transform.name());
      }
    }
  } else {
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     ListFiles(folder, ".textproto", /*recursive=*/true));
    for (const std::string& file : files) {
      // Other files below the folder have other fields.
      if (LoadConfig(file, Overrides()).ok()) names.push_back(file);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  RecordWriter writer(STDOUT_FILENO, "standard output",
                      RecordWriter::Flush::kWhenFull);
  return writer.WriteText(
      PrintableLines(absl::StrCat(absl::StrJoin(names, "\n"), "\n")));
}

}  // namespace feedrate
