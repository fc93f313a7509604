// Says what a run config will do, before anything runs.
//
//   bazel run //tools/plan -- --config=$PWD/configs/demo.textproto
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_main.h"
#include "lib/config/override_flags.h"
#include "lib/planning/emit/run_plan.h"

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
  options.output = OverridesFromFlags().ValueOr("output", "-");
  return options;
}

absl::StatusOr<ExitCode> RunFromFlags(
    const std::vector<std::string>& arguments) {
  RETURN_IF_ERROR(FLAGS_list.empty()
                      ? RunPlan(OptionsFromFlags(arguments))
                      : PrintNames(FLAGS_list, FLAGS_configs, FLAGS_config));
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
