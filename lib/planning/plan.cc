#include "lib/planning/plan.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/config/text_proto.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/emit/emit.h"
#include "lib/planning/emit/gce.h"
#include "lib/planning/emit/simulate.h"
#include "lib/planning/jobs.h"
#include "lib/planning/plan_session.h"
#include "lib/planning/plan_summary.h"
#include "lib/planning/waves.h"
#include "lib/records/record_io.h"
#include "lib/records/records.pb.h"

namespace feedrate {
namespace {

const char* const kCampaigns[] = {"shell", "make", "slurm", "gce"};

// Of a simulation with failures; their median moves by little more.
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
      return absl::OkStatus();
    };
    output.excluded = [&](const ExcludedCell& cell) {
      summary.AddExcluded(cell);
    };
    output.done = [&](const Job& job) { summary.AddDone(job); };
    RETURN_IF_ERROR(session.Plan(config, output));
    const bool is_first = &config == &session.configs().front();
    RETURN_IF_ERROR(
        out->WriteText(absl::StrCat(is_first ? "" : "\n\n", summary.ToText())));
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
  if (format != "jsonl") return out->WriteText(WavesText(waves));
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
    return PrintTextProto(session.configs()[0].config);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--emit=resolved and a folder as --output take one config, not ",
      session.configs().size()));
}

}  // namespace

bool IsCampaign(const std::string& emit) {
  return std::find(std::begin(kCampaigns), std::end(kCampaigns), emit) !=
         std::end(kCampaigns);
}

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

absl::Status RunPlan(const PlanOptions& options, RecordWriter* out,
                     std::string* resolved) {
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
  if (options.emit == "gce") {
    return EmitGce(*session, options.campaign, options.gce, folder, summary);
  }
  return EmitShell(*session, options.campaign, folder, summary);
}

}  // namespace feedrate
