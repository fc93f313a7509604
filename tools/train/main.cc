// Times training steps of small transformers, per phase.
//
//   bazel run //tools/train -- --model=vit5_tiny
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/config/override_flags.h"
#include "lib/records/train_settings.h"
#include "lib/runner/data/store_data.h"
#include "lib/runner/train/train_jobs.h"
#include "lib/runner/train/train_run.h"

DEFINE_string(config, "", "FILE: run config to plan from; flags override it");
DEFINE_string(jobs, "",
              "FILE: read jobs of mode train instead; - is standard input");
DEFINE_bool(find_batch_size, false,
            "Double the batch size until memory runs out; one row per size");
DEFINE_double(peak_tflops, 0,
              "NUMBER: dense peak of the device, for MFU; the default comes "
              "from a list of GPUs or is measured");
DEFINE_string(profile, "",
              "NAME: trace some steps after the timed ones; tb writes "
              "TensorBoard's layout {trace|tb}");
DEFINE_string(profile_output, "trace",
              "PATH: prefix of trace files; a folder for tb");
DEFINE_int32(profile_wait, 1, "N: steps to skip at the start of each cycle");
DEFINE_int32(profile_warmup, 1, "N: steps to trace and discard");
DEFINE_int32(profile_active, 3, "N: steps to keep");
DEFINE_int32(profile_repeat, 1, "N: number of cycles");
DEFINE_string(checkpoint, "",
              "FILE: write a checkpoint here after the measured steps");
DEFINE_int64(checkpoint_every, 0, "N: also write the checkpoint every N steps");
DEFINE_string(resume_from, "", "FILE: checkpoint to continue from");
DEFINE_string(export, "",
              "FILE: write the weights here after the measured steps, as "
              "safetensors");
DEFINE_string(export_ema, "", "FILE: the same for the averages of --ema_decay");
DEFINE_string(import, "", "FILE: safetensors with the weights to begin with");
DEFINE_int64(validate_every, 0,
             "N: with --scope=e2e, evaluate the model on --validation_dataset "
             "every N steps and after the measured ones; no part of the "
             "measured steps");
DEFINE_string(
    validation_dataset, "",
    "WHERE: images for --validate_every; a folder with a subfolder per "
    "class, named as in --dataset");
DEFINE_bool(cold, false,
            "With --scope=e2e: drop the files from memory before each "
            "training; by default they are read once before");
DEFINE_string(metrics, "",
              "FILE: write metrics of the last training for compare_baseline");
DEFINE_bool(budget, true,
            "Print the step budget and what limits the step at the end");
DEFINE_string(format, "",
              "NAME: what goes to standard output: a table at the end or "
              "records; default: table on a terminal, else jsonl "
              "{table|jsonl}");
DEFINE_bool(resume, false, "Continue with the rows in --output");
DEFINE_int32(retries, 0, "N: extra attempts for trainings that fail");
DEFINE_string(fail_on, "",
              "STATUSES: exit with 3 if a row has one of them, such as "
              "failed,crashed,timeout,oom,diverged");
DEFINE_string(memory_limit, "",
              "SIZE: memory that a process may use beyond what it starts with, "
              "such as 2G");
DEFINE_double(timeout, 300,
              "SECONDS: kill processes that send no message for this long; by "
              "default six times as long for torch_max_autotune, which "
              "compiles for minutes");
DEFINE_string(relative_to, "",
              "BASE: also print a table of speed-ups relative to the "
              "training with these settings, such as "
              "'library=torch_eager,precision=fp32'");
DEFINE_string(configs, "", "FOLDER: the configs folder; found automatically");

namespace feedrate {
namespace {

constexpr char kFlagsFile[] = "tools/train/main.cc";

ToolInfo Info() {
  ToolInfo info;
  info.name = "train";
  info.summary = "time training steps and their parts";
  info.usage = "[--model=NAME | --config=FILE | --jobs=FILE] [flags]";
  info.description =
      "Trains a model on synthetic data (or, with --scope=e2e, on images) in "
      "a\nprocess of its own and writes env, run and row records: the time of "
      "a step\nand of its parts, samples and tokens per second, MFU by three "
      "counts of\nthe work, what the device allows, memory, and the loss. "
      "--libraries adds\nPyTorch's own ways to run the same model. A crash "
      "becomes a row. The last\nlines on standard error say what limits each "
      "training. Exit 2: none is ok.";
  info.examples = {
      "train --model=vit5_tiny --warmup-steps=20",
      "train --model=vit5_small --device=cuda --batch-size=256 "
      "--precision=bf16 --libraries=feedrate,torch_eager,torch_compile",
      "train --sweep='precision=fp32,bf16' --output=rows.jsonl",
      "train --world-size=2",
      "train --config=configs/demo_train.textproto --batch-size=8",
      "train --scope=e2e --dataset=/data/images --workers=4 --epochs=1 "
      "--sweep='loader=native,torchvision,dali'",
      "train --scope=e2e --dataset=/data/train --epochs=10 "
      "--validate-every=1000 --validation-dataset=/data/val",
      "train --scope=e2e --dataset=s3://bucket/shards --cache-dir=cache "
      "--epochs=1",
      "srun --nodes=2 --ntasks=2 train --world-size=-1",
      "train --device=cuda:1 --libraries=feedrate,torch_eager,torch_compile "
      "--relative-to=library=torch_eager",
      "train --profile=trace --profile-output=/tmp/vit",
      "train --subject=my_pkg.model:build --batch-size=16",
      "train --subject=my_model.pt --batch-size=16",
  };
  info.flag_files = {kFlagsFile, kStoreFlagsFile, kOverrideFlagsFile};
  return info;
}

template <typename T>
void Register(const TrainSetting& setting, T usual) {
  gflags::FlagRegisterer(setting.flag, setting.help, kFlagsFile, new T(usual),
                         new T(usual));
}

// Defines the flag of a setting.
void DefineFlag(const TrainSetting& setting) {
  const std::string usual = setting.usual;
  int64_t whole = 0;
  double number = 0;
  switch (setting.type) {
    case SettingType::kTruth:
      return Register(setting, usual == "1");
    case SettingType::kWhole:
      if (absl::SimpleAtoi(usual, &whole)) Register(setting, whole);
      return;
    case SettingType::kNumber:
    case SettingType::kPositive:
      if (absl::SimpleAtod(usual, &number)) Register(setting, number);
      return;
    default:
      return Register(setting, usual);
  }
}

FileFlags settings_flags(kFlagsFile, [] {
  for (const TrainSetting& setting : TrainSettingTable()) {
    if (*setting.flag != '\0') DefineFlag(setting);
  }
});

// The settings of jobs whose flags were given.
std::map<std::string, std::string> SettingsFromFlags() {
  std::map<std::string, std::string> settings;
  for (const TrainSetting& setting : TrainSettingTable()) {
    gflags::CommandLineFlagInfo flag;
    if (*setting.flag == '\0' ||
        !gflags::GetCommandLineFlagInfo(setting.flag, &flag) ||
        flag.is_default) {
      continue;
    }
    std::string value = flag.current_value;
    if (flag.type == "bool") value = value == "true" ? "1" : "0";
    if (flag.type == "double") value = ShortNumber(value);
    settings[setting.name] = value;
  }
  return settings;
}

// `--device=cuda:1` is device cuda and GPU 1: which of a machine's GPUs trains
// is not part of a job.
absl::Status TakeDeviceIndex(TrainRunOptions* options) {
  const std::string device = options->source.overrides.ValueOr("device", "");
  absl::string_view index = device;
  if (!absl::ConsumePrefix(&index, "cuda:")) return absl::OkStatus();
  if (!absl::SimpleAtoi(index, &options->device_index)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--device: \"", device, "\" names no GPU; use cuda:0, cuda:1, ..."));
  }
  options->source.overrides.Set("device", "cuda");
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  TrainRunOptions options;
  if (!FLAGS_format.empty()) {
    RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, {"table", "jsonl"}));
  }
  options.run.format = FLAGS_format;
  options.source = {FLAGS_config, FLAGS_jobs, FLAGS_configs,
                    OverridesFromFlags(), SettingsFromFlags()};
  RETURN_IF_ERROR(TakeDeviceIndex(&options));
  options.timeout_given =
      !gflags::GetCommandLineFlagInfoOrDie("timeout").is_default;
  options.relative_to = FLAGS_relative_to;
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
  options.import_weights = FLAGS_import;
  options.export_weights = FLAGS_export;
  options.export_ema = FLAGS_export_ema;
  options.validation_dataset = FLAGS_validation_dataset;
  options.validate_every = FLAGS_validate_every;
  options.cold = FLAGS_cold;
  return RunTrain(options);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
