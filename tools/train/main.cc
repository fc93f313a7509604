// Times training steps of small transformers, per phase.
//
//   bazel run //tools/train -- --model=vit5_tiny
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gflags/gflags.h"
#include "lib/base/exit_code.h"
#include "lib/base/override_flags.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool_main.h"
#include "lib/runner/data/remote_data.h"
#include "lib/runner/data/store_data.h"
#include "lib/runner/train/multi_node.h"
#include "lib/runner/train/train_jobs.h"
#include "lib/runner/train/train_run.h"

DEFINE_string(model, "vit5_tiny",
              "NAME: what is trained "
              "{vit5_tiny|vit5_small|vit5_base|byte_lm_tiny|byte_lm_small}");
DEFINE_string(loader, "",
              "NAME: what feeds it in --scope=e2e, from the folder --dataset; "
              "several folders, separated by commas, are a job each "
              "{native|torchvision|dali|mixture}");
DEFINE_string(mixture, "",
              "SETTINGS: of --loader=mixture, such as "
              "'queue_depth=8;metadata=full'");
DEFINE_string(config, "",
              "FILE: run config to plan from; the flags here win over it");
DEFINE_int64(epochs, 0,
             "N: measure so many passes over --dataset instead of "
             "--measured_steps");
DEFINE_string(jobs, "",
              "FILE: jobs of mode train instead, - is standard input");
DEFINE_string(precision, "fp32",
              "NAME: type of matrix products; bf16 is autocast "
              "{fp32|tf32|bf16}");
DEFINE_string(optimizer, "adamw", "NAME: optimiser {adamw|lamb}");
DEFINE_double(learning_rate, 0.001, "RATE: of the optimiser");
DEFINE_int32(accumulation, 1,
             "N: batches whose gradients are added up for one step");
DEFINE_int64(warmup_steps, 200, "N: steps before the timed ones");
DEFINE_int64(measured_steps, 100, "N: steps that are timed");
DEFINE_string(mixing, "", "NAME: mixes images {mixup|cutmix|both}");
DEFINE_bool(optimizer_in_step, true,
            "The optimiser is part of the timed step; the row says so");
DEFINE_bool(graphs, false, "Replay the step as a CUDA graph");
DEFINE_bool(activation_checkpointing, false,
            "Compute activations again in the backward pass");
DEFINE_int32(world_size, 1,
             "N: processes that train together, one a device; -1: as many as "
             "there are, or as srun started");
DEFINE_int32(threads, 0, "N: threads of an operation on the CPU; 0: all");
DEFINE_bool(find_batch_size, false,
            "Double the batch until memory runs out, a row for each");
DEFINE_double(peak_tflops, 0,
              "NUMBER: dense peak of the device that use is held against; "
              "from a list of GPUs, or measured, without it");
DEFINE_string(profile, "",
              "NAME: trace some steps after the timed ones; tb is the layout "
              "of TensorBoard {trace|tb}");
DEFINE_string(profile_output, "trace",
              "PATH: start of the traces' names; a folder for tb");
DEFINE_int32(profile_wait, 1, "N: steps that a cycle lets go by");
DEFINE_int32(profile_warmup, 1, "N: steps traced and thrown away");
DEFINE_int32(profile_active, 3, "N: steps kept");
DEFINE_int32(profile_repeat, 1, "N: cycles");
DEFINE_string(checkpoint, "", "FILE: written whole after the measured steps");
DEFINE_int64(checkpoint_every, 0, "N: and every so many steps");
DEFINE_string(resume_from, "", "FILE: checkpoint to go on from");
DEFINE_string(metrics, "",
              "FILE: numbers of the last training for compare_baseline");
DEFINE_bool(budget, true, "Print the step's budget at the end");
DEFINE_bool(resume, false, "Carry on with the rows in --output");
DEFINE_int32(retries, 0, "N: more tries for trainings that fail");
DEFINE_string(fail_on, "",
              "STATUSES: exit with 3 when a row has one of them, such as "
              "failed,crashed,timeout,oom");
DEFINE_string(memory_limit, "",
              "SIZE: memory that a process may take beyond what it starts "
              "with, such as 2G");
DEFINE_double(timeout, 300,
              "SECONDS: how long processes may be silent before they are "
              "killed");
DEFINE_string(configs, "", "FOLDER: where requirements are; found by itself");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "train";
  info.summary = "time training steps, part by part";
  info.usage = "[--model=NAME | --config=FILE | --jobs=FILE] [flags]";
  info.description =
      "Trains a model on synthetic data in a process of its own and writes "
      "env,\n"
      "run and row records: time of a step and where it went, samples and\n"
      "tokens a second, use of the device by three counts of the work, what\n"
      "the device would allow, memory, loss and its slope. --libraries adds\n"
      "PyTorch's own ways to run the same model; a crash is a row.";
  info.examples = {
      "train --model=vit5_tiny --warmup-steps=20",
      "train --model=vit5_small --device=cuda --batch-size=256 "
      "--precision=bf16 --libraries=feedrate,torch_eager,torch_compile",
      "train --sweep='precision=fp32,bf16' --output=rows.jsonl",
      "train --world-size=2",
      "train --config=configs/demo_train.textproto --batch-size=8",
      "train --scope=e2e --dataset=/data/images --workers=4 --epochs=1 "
      "--sweep='loader=native,torchvision,dali'",
      "srun --nodes=2 --ntasks=2 train --world-size=-1",
      "train --profile=trace --profile-output=/tmp/vit",
  };
  info.flag_files = {"tools/train/main.cc", kStoreFlagsFile,
                     kOverrideFlagsFile};
  return info;
}

std::string Truth(bool value) { return value ? "1" : "0"; }

absl::StatusOr<int> WorldSize(const std::string& device,
                              const absl::optional<SlurmStep>& step) {
  if (FLAGS_world_size != -1) {
    const bool given =
        !gflags::GetCommandLineFlagInfoOrDie("world_size").is_default;
    if (step.has_value() && !given) {
      return absl::InvalidArgumentError(absl::StrCat(
          "srun started ", step->world_size,
          " tasks; say --world-size=-1 for them to train together"));
    }
    return FLAGS_world_size;
  }
  return step.has_value() ? step->world_size : DeviceCount(device);
}

std::vector<std::string> SplitFolders(const Overrides& overrides) {
  return absl::StrSplit(overrides.dataset.value_or(""), ',', absl::SkipEmpty());
}

// Folders by short name, in the order of the command line.
using Folders = std::vector<std::pair<std::string, std::string>>;

absl::StatusOr<Folders> FoldersFromFlags(const Overrides& overrides) {
  Folders folders;
  std::map<std::string, std::string> seen;
  for (const std::string& path : SplitFolders(overrides)) {
    ASSIGN_OR_RETURN(const std::string id, DatasetId(path));
    if (!seen.emplace(id, path).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--dataset: ", seen[id], " and ", path,
                       " are both called \"", id, "\"; rename one"));
    }
    folders.emplace_back(id, path);
  }
  return folders;
}

// Every setting that a flag determines, including defaults.
std::map<std::string, std::string> SettingsFromFlags(int world_size) {
  std::map<std::string, std::string> settings = {
      {"model", FLAGS_model},
      {"precision", FLAGS_precision},
      {"optimizer", FLAGS_optimizer},
      {"learning_rate", absl::StrCat(FLAGS_learning_rate)},
      {"accumulation", absl::StrCat(FLAGS_accumulation)},
      {"warmup", absl::StrCat(FLAGS_warmup_steps)},
      {"steps", absl::StrCat(FLAGS_measured_steps)},
      {"mixing", FLAGS_mixing},
      {"optimizer_in_step", Truth(FLAGS_optimizer_in_step)},
      {"graphs", Truth(FLAGS_graphs)},
      {"activation_checkpointing", Truth(FLAGS_activation_checkpointing)},
      {"loader", FLAGS_loader},
      {"mixture", FLAGS_mixture},
      {"world_size", absl::StrCat(world_size)}};
  if (FLAGS_epochs != 0) settings["epochs"] = absl::StrCat(FLAGS_epochs);
  if (FLAGS_threads != 0) settings["threads"] = absl::StrCat(FLAGS_threads);
  return settings;
}

// Only the settings given on the command line.
std::map<std::string, std::string> GivenSettings(int world_size) {
  static const auto* const renamed = new std::map<std::string, std::string>{
      {"warmup", "warmup_steps"}, {"steps", "measured_steps"}};
  std::map<std::string, std::string> given;
  for (const auto& setting : SettingsFromFlags(world_size)) {
    const auto flag = renamed->find(setting.first);
    const std::string name =
        flag == renamed->end() ? setting.first : flag->second;
    if (!gflags::GetCommandLineFlagInfoOrDie(name.c_str()).is_default) {
      given.insert(setting);
    }
  }
  return given;
}

absl::StatusOr<TrainRequest> RequestFromFlags(
    const Overrides& overrides, const absl::optional<SlurmStep>& step) {
  TrainRequest request;
  request.libraries =
      overrides.libraries.value_or(std::vector<std::string>{kTrainLibrary});
  request.scope = overrides.scope.value_or(request.scope);
  request.device = overrides.device.value_or(request.device);
  if (request.device == "none") request.device = "cpu";
  request.batch_size = overrides.batch_size.value_or(request.batch_size);
  request.workers = overrides.workers.value_or(request.workers);
  ASSIGN_OR_RETURN(const Folders folders, FoldersFromFlags(overrides));
  for (const auto& folder : folders) request.datasets.push_back(folder.first);
  request.seed = overrides.seed.value_or(request.seed);
  request.num_runs = overrides.num_runs.value_or(request.num_runs);
  request.sweep = overrides.sweep.value_or("");
  if (request.num_runs < 1) {
    return absl::InvalidArgumentError("--num_runs must be at least 1");
  }
  ASSIGN_OR_RETURN(const int world_size, WorldSize(request.device, step));
  request.settings = SettingsFromFlags(world_size);
  request.settings["sample_ratio"] =
      absl::StrCat(overrides.sample_ratio.value_or(1));
  return request;
}

std::vector<std::string> WordsFromFlags() {
  std::vector<std::string> words;
  if (!FLAGS_profile.empty()) {
    words.push_back(absl::StrCat("profile=", FLAGS_profile));
    words.push_back(absl::StrCat("profile_prefix=", FLAGS_profile_output));
    words.push_back(absl::StrCat("profile_wait=", FLAGS_profile_wait));
    words.push_back(absl::StrCat("profile_warmup=", FLAGS_profile_warmup));
    words.push_back(absl::StrCat("profile_active=", FLAGS_profile_active));
    words.push_back(absl::StrCat("profile_repeat=", FLAGS_profile_repeat));
  }
  if (!FLAGS_checkpoint.empty()) {
    words.push_back(absl::StrCat("checkpoint=", FLAGS_checkpoint));
    words.push_back(absl::StrCat("checkpoint_every=", FLAGS_checkpoint_every));
  }
  if (!FLAGS_resume_from.empty()) {
    words.push_back(absl::StrCat("resume=", FLAGS_resume_from));
  }
  return words;
}

absl::Status CheckFlags() {
  if (!FLAGS_profile.empty()) {
    RETURN_IF_ERROR(CheckChoice("--profile", FLAGS_profile, {"trace", "tb"}));
  }
  if (FLAGS_profile_wait < 0 || FLAGS_profile_warmup < 0 ||
      FLAGS_profile_active < 1 || FLAGS_profile_repeat < 1) {
    return absl::InvalidArgumentError(
        "--profile_active and --profile_repeat must be at least 1, "
        "--profile_wait and --profile_warmup at least 0");
  }
  if (FLAGS_retries < 0 || !(FLAGS_timeout > 0) || FLAGS_peak_tflops < 0 ||
      FLAGS_checkpoint_every < 0) {
    return absl::InvalidArgumentError(
        "--retries, --peak_tflops and --checkpoint_every must be at least 0, "
        "--timeout above 0");
  }
  return absl::OkStatus();
}

// Sets the jobs from a config, a file, or the flags alone, and where their data
// is.
absl::Status SetJobs(const Overrides& overrides, TrainRunOptions* options) {
  if (!FLAGS_config.empty() && !FLAGS_jobs.empty()) {
    return absl::InvalidArgumentError(
        "--config plans jobs and --jobs has them; leave one out");
  }
  if (!FLAGS_config.empty()) {
    ASSIGN_OR_RETURN(
        const int world_size,
        WorldSize(overrides.device.value_or("cpu"), options->step));
    ASSIGN_OR_RETURN(TrainPlan plan,
                     PlanTrainJobs(FLAGS_config, overrides,
                                   GivenSettings(world_size), FLAGS_configs));
    options->jobs = std::move(plan.jobs);
    options->config = std::move(plan.config);
    const Data& data = options->config.data();
    options->folders[data.id()] = data.dataset();
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Folders folders, FoldersFromFlags(overrides));
  options->folders.insert(folders.begin(), folders.end());
  options->config.set_label(overrides.label.value_or(""));
  options->config.set_note(overrides.note.value_or(""));
  options->config.mutable_output()->set_path(overrides.output.value_or("-"));
  if (!FLAGS_jobs.empty()) {
    ASSIGN_OR_RETURN(options->jobs, ReadTrainJobs(FLAGS_jobs));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const TrainRequest request,
                   RequestFromFlags(overrides, options->step));
  ASSIGN_OR_RETURN(options->jobs, MakeTrainJobs(request));
  return absl::OkStatus();
}

absl::StatusOr<TrainRunOptions> OptionsFromFlags() {
  RETURN_IF_ERROR(CheckFlags());
  const Overrides overrides = OverridesFromFlags();
  TrainRunOptions options;
  ASSIGN_OR_RETURN(options.step, ThisSlurmStep());
  RETURN_IF_ERROR(SetJobs(overrides, &options));
  options.configs_folder = FLAGS_configs;
  options.output = options.config.output().path();
  options.resume = FLAGS_resume;
  options.fail_on = absl::StrSplit(FLAGS_fail_on, ',', absl::SkipEmpty());
  for (const std::string& status : options.fail_on) {
    RETURN_IF_ERROR(CheckChoice("--fail_on", status,
                                {"failed", "crashed", "timeout", "oom"}));
  }
  options.retries = FLAGS_retries;
  options.silence = absl::Seconds(FLAGS_timeout);
  options.peak_tflops = FLAGS_peak_tflops;
  options.find_batch_size = FLAGS_find_batch_size;
  options.metrics = FLAGS_metrics;
  options.budget = FLAGS_budget;
  options.words = WordsFromFlags();
  if (!FLAGS_memory_limit.empty()) {
    ASSIGN_OR_RETURN(options.memory_limit_bytes,
                     SizeOfFlag("--memory_limit", FLAGS_memory_limit, 1));
  }
  return options;
}

// Copies data sets from stores to this machine; they stay as long as the
// returned objects.
absl::StatusOr<std::vector<std::unique_ptr<RemoteData>>> BringHome(
    std::map<std::string, std::string>* folders) {
  ASSIGN_OR_RETURN(const OpenRemoteData open, OpenStoresByFlags());
  const auto say = [](const std::string& text) {
    std::cerr << "train: " << text << "\n";
  };
  std::vector<std::unique_ptr<RemoteData>> stores;
  for (auto& [id, folder] : *folders) {
    if (!IsRemoteDataset(folder)) continue;
    ASSIGN_OR_RETURN(stores.emplace_back(), open(folder, say));
    ASSIGN_OR_RETURN(folder,
                     stores.back()->BringHome({"jpg", "jpeg", "png", "npy"},
                                              /*num_items=*/0,
                                              /*own_names=*/false, nullptr));
  }
  return stores;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  ASSIGN_OR_RETURN(TrainRunOptions options, OptionsFromFlags());
  ASSIGN_OR_RETURN(const auto stores, BringHome(&options.folders));
  return RunTrain(options);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
