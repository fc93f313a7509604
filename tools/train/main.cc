// Times training steps of small transformers, per phase.
//
//   bazel run //tools/train -- --model=vit5_tiny
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gflags/gflags.h"
#include "lib/base/exit_code.h"
#include "lib/base/override_flags.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool_main.h"
#include "lib/runner/data/store_data.h"
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
DEFINE_string(engine, "",
              "NAME: what computes the step of library feedrate; by default "
              "fused where it can train the model (one GPU, bf16, adamw), else "
              "eager {fused|eager}");
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

// Adds a setting of jobs that the flag determines.
void Set(const std::string& name, const char* flag, const std::string& value,
         TrainSource* source) {
  source->settings[name] = value;
  if (!gflags::GetCommandLineFlagInfoOrDie(flag).is_default) {
    source->given.insert(name);
  }
}

std::string Truth(bool value) { return value ? "1" : "0"; }

TrainSource SourceFromFlags() {
  TrainSource source;
  source.config = FLAGS_config;
  source.jobs = FLAGS_jobs;
  source.configs_folder = FLAGS_configs;
  source.overrides = OverridesFromFlags();
  const std::vector<std::pair<const char*, std::string>> settings = {
      {"model", FLAGS_model},
      {"precision", FLAGS_precision},
      {"optimizer", FLAGS_optimizer},
      {"learning_rate", absl::StrCat(FLAGS_learning_rate)},
      {"accumulation", absl::StrCat(FLAGS_accumulation)},
      {"mixing", FLAGS_mixing},
      {"optimizer_in_step", Truth(FLAGS_optimizer_in_step)},
      {"engine", FLAGS_engine},
      {"graphs", Truth(FLAGS_graphs)},
      {"activation_checkpointing", Truth(FLAGS_activation_checkpointing)},
      {"loader", FLAGS_loader},
      {"mixture", FLAGS_mixture},
      {"world_size", absl::StrCat(FLAGS_world_size)}};
  for (const auto& [name, value] : settings) Set(name, name, value, &source);
  Set("warmup", "warmup_steps", absl::StrCat(FLAGS_warmup_steps), &source);
  Set("steps", "measured_steps", absl::StrCat(FLAGS_measured_steps), &source);
  if (FLAGS_epochs != 0) {
    Set("epochs", "epochs", absl::StrCat(FLAGS_epochs), &source);
  }
  if (FLAGS_threads != 0) {
    Set("threads", "threads", absl::StrCat(FLAGS_threads), &source);
  }
  return source;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  TrainRunOptions options;
  options.source = SourceFromFlags();
  options.run.configs_folder = FLAGS_configs;
  options.run.resume = FLAGS_resume;
  options.run.fail_on = absl::StrSplit(FLAGS_fail_on, ',', absl::SkipEmpty());
  options.run.limits.retries = FLAGS_retries;
  options.run.limits.hang_s = FLAGS_timeout;
  if (!FLAGS_memory_limit.empty()) {
    ASSIGN_OR_RETURN(options.run.limits.memory_bytes,
                     SizeOfFlag("--memory_limit", FLAGS_memory_limit, 1));
  }
  ASSIGN_OR_RETURN(options.run.open_remote, OpenStoresByFlags());
  options.peak_tflops = FLAGS_peak_tflops;
  options.find_batch_size = FLAGS_find_batch_size;
  options.metrics = FLAGS_metrics;
  options.budget = FLAGS_budget;
  options.profile = {FLAGS_profile,        FLAGS_profile_output,
                     FLAGS_profile_wait,   FLAGS_profile_warmup,
                     FLAGS_profile_active, FLAGS_profile_repeat};
  options.checkpoint = FLAGS_checkpoint;
  options.checkpoint_every = FLAGS_checkpoint_every;
  options.resume_from = FLAGS_resume_from;
  return RunTrain(options);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
