// Says which samples a training really saw, over kills and restarts.
//
//   bazel run //tools/audit -- --make=/tmp/ids --items=997
//   bazel run //tools/audit -- --dataset=/tmp/ids --kills=2 --
//     python train.py --data /tmp/ids

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/audit/audit_training.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"

DEFINE_string(make, "",
              "FOLDER: instead of auditing, write a data set whose images say "
              "which item they are");
DEFINE_string(
    layout, "folder",
    "NAME: how --make writes it; text is of tokens "
    "{clips|folder|hf_datasets|jsonl|lerobot|litdata|lmdb|mds|parquet|rlds|tar|"
    "text_parquet|tfrecord|webdataset}");
DEFINE_string(items, "997",
              "LIST: number of items for training that --make writes; of "
              "several numbers, each is a source of a mixture, in folders 0, 1 "
              "and so on");
DEFINE_int32(validation_items, 100, "N: items for validation that it writes");
DEFINE_int32(classes, 10, "N: a label is the item's number modulo this");
DEFINE_int32(side, 256,
             "N: width and height of its images; a training may resize them to "
             "no less than a quarter");
DEFINE_string(python, "python3",
              "PATH: Python that --make uses, with the package that writes the "
              "layout");
DEFINE_string(
    dataset, "",
    "WHERE: the folder that --make wrote; default: the first word of the "
    "command that names such a folder");
DEFINE_int32(kills, 1, "N: how often the training is killed and restarted");
DEFINE_string(
    world_sizes, "1",
    "LIST: numbers of processes that train together, one audit each; "
    "{world_size} in the command is replaced, without it audit starts "
    "as many processes with the variables of torchrun");
DEFINE_string(restart, "",
              "COMMAND: what starts the training again after a kill; default: "
              "the same command");
DEFINE_int32(restart_world_size, 0,
             "N: processes after a restart; 0 means as before");
DEFINE_string(prepare, "",
              "COMMAND: run this before each run, such as rm -rf checkpoints; "
              "{run} in all commands is the run's name");
DEFINE_string(weights, "",
              "LIST: of a mixture, the weight of each source, such as 0.6,0.4; "
              "items may then repeat");
DEFINE_string(signal, "kill",
              "NAME: what ends the training: SIGKILL, SIGTERM as Slurm sends "
              "it, or both in turns {kill|term|both}");
DEFINE_double(grace, 30, "SECONDS: between SIGTERM and SIGKILL");
DEFINE_double(timeout, 0,
              "SECONDS: a run or --prepare that takes longer failed; 0 means "
              "any time");
DEFINE_int64(seed, 1, "N: says at which steps and ranks the kills are");
DEFINE_string(format, "jsonl",
              "NAME: what --output gets; the page for people goes to standard "
              "error, and a terminal gets no jsonl "
              "{jsonl|text|markdown|junit|html}");
DEFINE_string(output, "-", "FILE: where to write; - means standard output");
DEFINE_string(reports, "",
              "FILES: also write these, separated by commas; their endings say "
              "what: .html, .xml (JUnit), .md, .txt, .jsonl");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "audit";
  info.summary = "say which samples a training really saw, over restarts";
  info.usage = "[flags] -- COMMAND [ARGUMENT...]";
  info.description =
      "Runs a training on a data set whose images say which item they are,\n"
      "once as it is and once with kills at random steps, and reads at the\n"
      "model what it trained on: each item once per epoch, in a new order,\n"
      "over all ranks, and also after a restart. The command runs unchanged;\n"
      "Python loads a hook at its start. Exit 3: a fault was found; 2: the\n"
      "training failed by itself; 4: too little could be read.";
  info.examples = {
      "audit --make=ids --items=997",
      "audit --dataset=ids --kills=2 -- python train.py --data ids/train",
      "audit --kills=2 --restart='python train.py --data ids --resume last.pt' "
      "-- python train.py --data ids",
      "audit --world_sizes=1,2 --reports=audit.html -- torchrun "
      "--nproc_per_node={world_size} train.py --data ids",
  };
  info.takes_arguments = true;
  info.flag_files = {"tools/audit/main.cc"};
  return info;
}

absl::Status CheckFlags() {
  RETURN_IF_ERROR(
      CheckChoice("--layout", FLAGS_layout,
                  {"clips", "folder", "hf_datasets", "jsonl", "lerobot",
                   "litdata", "lmdb", "mds", "parquet", "rlds", "tar",
                   "text_parquet", "tfrecord", "webdataset"}));
  RETURN_IF_ERROR(
      CheckChoice("--signal", FLAGS_signal, {"kill", "term", "both"}));
  RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format,
                              {"jsonl", "text", "markdown", "junit", "html"}));
  if (FLAGS_kills < 0 || FLAGS_kills > 1000) {
    return absl::InvalidArgumentError("--kills must be 0 to 1000");
  }
  if (!(FLAGS_grace >= 0) || !(FLAGS_timeout >= 0)) {
    return absl::InvalidArgumentError(
        "--grace and --timeout must be at least 0");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> WeightsOf(const std::string& list) {
  std::vector<double> weights;
  double sum = 0;
  for (const auto& text : absl::StrSplit(list, ',', absl::SkipEmpty())) {
    double weight = 0;
    if (!absl::SimpleAtod(text, &weight) || !(weight > 0) || weight > 1e9) {
      return absl::InvalidArgumentError(
          absl::StrCat("--weights: \"", text, "\" is not a weight above 0"));
    }
    weights.push_back(weight);
    sum += weight;
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>& words) {
  RETURN_IF_ERROR(CheckFlags());
  if (!FLAGS_make.empty()) {
    if (!words.empty()) {
      return absl::InvalidArgumentError(
          "--make runs no command; leave out what comes after the flags");
    }
    return MakeItems({FLAGS_make, FLAGS_layout, FLAGS_python, FLAGS_items,
                      FLAGS_validation_items, FLAGS_classes, FLAGS_side});
  }
  AuditOptions options;
  options.plan.command = words;
  options.plan.restart = FLAGS_restart;
  options.plan.prepare = FLAGS_prepare;
  options.plan.restart_world_size = FLAGS_restart_world_size;
  options.plan.kills = FLAGS_kills;
  options.plan.seed = static_cast<uint64_t>(FLAGS_seed);
  options.plan.signal = FLAGS_signal;
  options.plan.grace_s = FLAGS_grace;
  options.plan.timeout_s = FLAGS_timeout;
  options.dataset = FLAGS_dataset;
  ASSIGN_OR_RETURN(options.weights, WeightsOf(FLAGS_weights));
  options.format = FLAGS_format;
  options.output = FLAGS_output;
  options.reports = absl::StrSplit(FLAGS_reports, ',', absl::SkipEmpty());
  for (const auto& text :
       absl::StrSplit(FLAGS_world_sizes, ',', absl::SkipEmpty())) {
    int size = 0;
    if (!absl::SimpleAtoi(text, &size) || size < 1 || size > 1024) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--world_sizes: \"", text, "\" is not a number of processes"));
    }
    options.world_sizes.push_back(size);
  }
  return AuditTrainings(options, std::cerr);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
