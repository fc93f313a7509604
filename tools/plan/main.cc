// Says what a run config will do, before anything runs.
//
//   bazel run //tools/plan -- --config=$PWD/configs/demo.textproto
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gflags/gflags.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/tool_main.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/load.h"
#include "lib/config/matrix.pb.h"
#include "lib/config/override_flags.h"
#include "lib/config/text_proto.h"
#include "lib/config/transforms.pb.h"
#include "lib/planning/emit/campaign.h"
#include "lib/planning/emit/emit.h"
#include "lib/planning/emit/gce.h"
#include "lib/planning/emit/simulate.h"
#include "lib/planning/jobs.h"
#include "lib/planning/needs.h"
#include "lib/planning/plan_session.h"
#include "lib/planning/plan_summary.h"
#include "lib/planning/waves.h"
#include "lib/records/job.pb.h"
#include "lib/records/job_identity.h"
#include "lib/records/record_io.h"

DEFINE_string(config, "",
              "FILE: run config, several separated by commas, or a folder of "
              "run configs");
DEFINE_string(
    emit, "jobs",
    "WHAT: job records, a readable summary, waves under a quota, the resolved "
    "config, or a folder of scripts for a single shell, GNU make, Slurm, "
    "Kubernetes or Google Cloud "
    "{jobs|table|waves|resolved|shell|make|slurm|kubernetes|gce}");
DEFINE_string(list, "",
              "WHAT: instead of planning, list the names that --libraries, "
              "--transforms or --config take {libraries|transforms|configs}");
DEFINE_string(format, "text", "NAME: output format of the waves {text|jsonl}");
DEFINE_string(existing, "",
              "FILES: rows of earlier runs, or folders with them; what they "
              "have done is not planned again");
DEFINE_string(machine_profile, "", "NAME: use only rows of this machine");
DEFINE_string(machine_type, "",
              "NAME: plan for this machine type of the quota instead of the "
              "config's, such as c4d-standard-16");
DEFINE_string(rows, "",
              "FILES: row files or folders, separated by commas; estimate from "
              "how long their runs took; rows of --existing count too");
DEFINE_string(set, "",
              "NAME: plan only configs of this set in a folder, or all; "
              "default: the set that is named like the folder");
DEFINE_string(quota, "",
              "FILE: quota for the waves; default: quotas/paper.textproto");
DEFINE_double(task_s, 0,
              "SECONDS: estimated work per task in a folder of scripts; 0 uses "
              "the policy's value");
DEFINE_string(container, "",
              "WORDS: command to put before the runner in scripts, such as "
              "\"apptainer exec image.sif\"");
DEFINE_int32(
    array_limit, 0,
    "N: maximum number of tasks per Slurm array; 0 uses the policy's value");
DEFINE_string(
    bucket, "",
    "URI: bucket of --emit=gce for bundle, data and rows, such as gs://NAME");
DEFINE_string(project, "", "NAME: Google Cloud project of --emit=gce");
DEFINE_string(
    bundle, "",
    "FILE: tarball from `make bundle` that the machines of --emit=gce run");
DEFINE_string(image, "",
              "NAME: container image of --emit=kubernetes that has the bundle");
DEFINE_string(image_bin, "/opt/feedrate/bin",
              "FOLDER: where the image has the programs of the bundle");
DEFINE_string(claim, "",
              "NAME/FOLDER: claim of --emit=kubernetes for the volume with the "
              "campaign's folder, and the folder's path on the volume, such as "
              "campaigns/rgb");
DEFINE_string(mount, "/campaign",
              "FOLDER: where containers of --emit=kubernetes see that folder");
DEFINE_string(simulate, "",
              "FILE: instead of emitting the campaign, simulate it under this "
              "quota: makespan, cost, utilization, lost work");
DEFINE_double(failure_rate, 0,
              "N: failures per machine and hour, for --simulate");
DEFINE_string(
    configs, "",
    "FOLDER: folder that contains matrix.textproto and policy.textproto; by "
    "default it is searched for above the config and beside the program");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "plan";
  info.summary = "list the jobs of a config before anything runs";
  info.usage = "--config=FILE [flags] [FILE...]";
  info.description =
      "Reads a run config and writes job records to standard output, one JSON\n"
      "line each: every transform of every library that the support matrix\n"
      "allows. Runners (micro, pipeline, video, …) read them from a pipe.\n"
      "Measures nothing, and reads nothing but the config folder.";
  info.examples = {
      "plan --config=configs/demo.textproto --emit=table",
      "plan --config=configs/paper --emit=waves",
      "plan --config=configs/paper/prod_c4_rgb_micro_cpu.textproto "
      "--num_runs=3 --existing=rows.jsonl > jobs.jsonl",
      "plan --config=configs/paper/prod_c4_rgb_micro_cpu.textproto "
      "--emit=slurm --output=campaign/",
      "plan --list=transforms",
  };
  info.takes_arguments = true;
  info.flag_files = {"tools/plan/main.cc", kOverrideFlagsFile};
  return info;
}

struct PlanOptions {
  PlanInputs inputs;
  // `jobs`, `table`, `waves` or `resolved`, or one of kCampaigns.
  std::string emit = "jobs";
  // How waves are printed: `text` or `jsonl`.
  std::string format = "text";
  // Settings for campaigns.
  CampaignOptions campaign;
  GceOptions gce;
  KubernetesOptions kubernetes;
  // Says what the campaign would take under the session's quota, instead of
  // emitting it. `waves` and `gce` run wave by wave, the others as a queue.
  bool simulate = false;
  // Failures of a machine in an hour.
  double failure_rate = 0;
};

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
// REQUIRES: the options are right, and the emit is no campaign, or simulated.
absl::Status RunPlan(const PlanOptions& options, RecordWriter* out,
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

PlanOptions OptionsFromFlags(const std::vector<std::string>& arguments) {
  PlanOptions options;
  PlanInputs& inputs = options.inputs;
  inputs.configs = absl::StrSplit(FLAGS_config, ',', absl::SkipEmpty());
  inputs.configs.insert(inputs.configs.end(), arguments.begin(),
                        arguments.end());
  inputs.set = FLAGS_set;
  inputs.overrides = OverridesFromFlags();
  // Here --output is where the plan goes; the config says where rows go.
  inputs.overrides.Clear("output");
  inputs.existing = absl::StrSplit(FLAGS_existing, ',', absl::SkipEmpty());
  inputs.rows = absl::StrSplit(FLAGS_rows, ',', absl::SkipEmpty());
  inputs.machine_profile = FLAGS_machine_profile;
  inputs.quota = FLAGS_quota;
  inputs.configs_folder = FLAGS_configs;
  inputs.warn = [](const std::string& text) {
    std::cerr << "plan: " << PrintableText(text) << "\n";
  };
  options.emit = FLAGS_emit;
  options.format = FLAGS_format;
  options.campaign.task_s = FLAGS_task_s;
  options.campaign.container = FLAGS_container;
  options.campaign.array_limit = FLAGS_array_limit;
  options.simulate = !FLAGS_simulate.empty();
  if (options.simulate) inputs.quota = FLAGS_simulate;
  options.failure_rate = FLAGS_failure_rate;
  options.kubernetes.image = FLAGS_image;
  options.kubernetes.image_bin = FLAGS_image_bin;
  options.kubernetes.claim = FLAGS_claim;
  options.kubernetes.mount = FLAGS_mount;
  options.gce = {FLAGS_bucket, FLAGS_project, FLAGS_bundle};
  return options;
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
  RETURN_IF_ERROR(RunPlan(options, &writer, resolved));
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

// The names that `what` asks for, one per line, each once.
absl::StatusOr<std::string> NamesText(const std::string& what) {
  RETURN_IF_ERROR(
      CheckChoice("--list", what, {"libraries", "transforms", "configs"}));
  ASSIGN_OR_RETURN(const std::string folder,
                   FindConfigsFolder(FLAGS_configs, FLAGS_config));
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
  return absl::StrCat(absl::StrJoin(names, "\n"), "\n");
}

absl::StatusOr<ExitCode> RunFromFlags(
    const std::vector<std::string>& arguments) {
  if (!FLAGS_list.empty()) {
    ASSIGN_OR_RETURN(const std::string text, NamesText(FLAGS_list));
    RecordWriter writer(STDOUT_FILENO, "standard output",
                        RecordWriter::Flush::kWhenFull);
    RETURN_IF_ERROR(writer.WriteText(PrintableLines(text)));
    return ExitCode::kDone;
  }
  const PlanOptions options = OptionsFromFlags(arguments);
  const std::string output = OverridesFromFlags().ValueOr("output", "-");
  RETURN_IF_ERROR(CheckPlanOptions(options));
  if (IsCampaign(options.emit) && !options.simulate) {
    RETURN_IF_ERROR(MakeCampaign(options, output));
  } else if (output == "-") {
    RecordWriter writer(STDOUT_FILENO, "standard output",
                        RecordWriter::Flush::kWhenFull);
    RETURN_IF_ERROR(RunPlan(options, &writer));
  } else if (IsFolder(output) || absl::EndsWith(output, "/")) {
    RETURN_IF_ERROR(MakeFolder(output));
    RETURN_IF_ERROR(PlanIntoFolder(options, output));
  } else {
    RETURN_IF_ERROR(PlanIntoFile(options, output));
  }
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
