// Measures perplexity and probes of a language model, or how well an image
// model tells classes; results are identical each time.
//
//   bazel run //tools/eval -- --checkpoint=$PWD/testdata/eval/byte_lm_tiny.ckpt
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/environment/env_record.h"
#include "lib/machine/machine.h"
#include "lib/records/json.h"
#include "lib/runner/eval/eval_run.h"

DEFINE_string(checkpoint, "",
              "FILE: checkpoint written by train, or a TorchScript module that "
              "maps int64 tokens to logits");
DEFINE_string(tokenizer, "bytes",
              "FILE: `bytes`, or a file with one token per line, longest match "
              "first, for a TorchScript module");
DEFINE_string(shard, "",
              "FILE: text for the perplexity; default: the bundled text");
DEFINE_int64(shard_bytes, 8192, "N: number of bytes of the text to use");
DEFINE_int64(window, 128, "N: number of tokens that the model sees at once");
DEFINE_string(probes, "",
              "FILES: probes as JSONL files, separated by commas; default: the "
              "three bundled files");
DEFINE_string(dataset, "",
              "WHERE: labeled images for a checkpoint of an image model: a "
              "subfolder per class, or tar shards with numbers of classes");
DEFINE_int32(
    workers, 1,
    "N: threads that decode the images of --dataset and run the model");
DEFINE_int64(seed, 42, "N: seed for random numbers, if there are any");
DEFINE_string(expect, "",
              "FILE: expected numbers with tolerances; exit 3 if a number "
              "differs by more");
DEFINE_string(eval_json, "",
              "FILE: also write the numbers for compare_baseline, with the "
              "machine's profile");
DEFINE_string(format, "jsonl", "NAME: output format {jsonl|text}");
DEFINE_string(output, "-", "FILE: where to write; - means standard output");
DEFINE_double(timeout, 600, "SECONDS: how long the model may take");
DEFINE_string(
    configs, "",
    "FOLDER: folder that contains eval/; by default it is searched for");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "eval";
  info.summary =
      "compute perplexity and probes, or top-1 and top-5, of a checkpoint";
  info.usage = "--checkpoint=FILE [flags]";
  info.description =
      "Reads a checkpoint. A language model predicts a fixed text byte by\n"
      "byte, and answers fixed questions with the most likely byte at each\n"
      "step. An image model tells the classes of the images of --dataset.\n"
      "Writes one eval record. It contains no time and no run id: the same\n"
      "checkpoint gives the same bytes on the same machine.\n"
      "Exit 3: a number differs from --expect.";
  info.examples = {
      "eval --checkpoint=testdata/eval/byte_lm_tiny.ckpt --format=text",
      "eval --checkpoint=m.ckpt --expect=expected.json",
      "eval --checkpoint=m.ckpt --eval-json=eval.json",
      "eval --checkpoint=vit.ckpt --dataset=/data/val --workers=4",
  };
  info.flag_files = {"tools/eval/main.cc"};
  return info;
}

std::string TextOf(const Eval& eval) {
  std::string text;
  for (const EvalNumber& number : EvalNumbers(eval)) {
    absl::StrAppendFormat(&text, "%-28s %.4f\n", number.name, number.value);
  }
  return text;
}

// A flag that would change nothing is an error.
absl::Status CheckUseful() {
  const auto given = [](const char* flag) {
    return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default;
  };
  if (FLAGS_dataset.empty()) {
    if (!given("workers")) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "--workers decode images; add --dataset, or leave it out");
  }
  for (const char* flag :
       {"tokenizer", "shard", "shard_bytes", "window", "probes"}) {
    if (!given(flag)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--", flag,
                     ": is for language models, --dataset for image models; "
                     "leave one out"));
  }
  if (FLAGS_workers < 1 || FLAGS_workers > 1024) {
    return absl::InvalidArgumentError("--workers must be from 1 to 1024");
  }
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, {"jsonl", "text"}));
  if (FLAGS_checkpoint.empty()) {
    return absl::InvalidArgumentError(
        "--checkpoint: name a file, such as "
        "testdata/eval/byte_lm_tiny.ckpt");
  }
  if (FLAGS_shard_bytes < 2 || FLAGS_window < 2 || !(FLAGS_timeout > 0)) {
    return absl::InvalidArgumentError(
        "--shard_bytes and --window must be at least 2, --timeout above 0");
  }
  RETURN_IF_ERROR(CheckUseful());
  EvalRunOptions options;
  options.checkpoint = FLAGS_checkpoint;
  options.tokenizer = FLAGS_tokenizer;
  options.shard = FLAGS_shard;
  options.shard_bytes = FLAGS_shard_bytes;
  options.window = FLAGS_window;
  options.probes = absl::StrSplit(FLAGS_probes, ',', absl::SkipEmpty());
  options.seed = FLAGS_seed;
  options.dataset = FLAGS_dataset;
  options.workers = FLAGS_workers;
  options.configs_folder = FLAGS_configs;
  options.timeout = absl::Seconds(FLAGS_timeout);
  const auto say = [](const std::string& text) {
    std::cerr << "eval: " << PrintableText(text) << "\n";
  };
  options.warn = say;
  ASSIGN_OR_RETURN(const Eval eval, RunEvaluation(options));

  std::string text;
  if (FLAGS_format == "text") {
    text = TextOf(eval);
  } else {
    AppendRecord(eval, &text);
  }
  if (FLAGS_output == "-") {
    std::cout << text;
  } else {
    RETURN_IF_ERROR(WriteFileAtomically(FLAGS_output, text));
  }
  if (!FLAGS_eval_json.empty()) {
    const Env env = EnvRecord(ReadMachine(ThisMachine()), absl::Now());
    RETURN_IF_ERROR(WriteFileAtomically(FLAGS_eval_json,
                                        EvalJson(eval, env.machine_profile())));
  }
  if (FLAGS_expect.empty()) return ExitCode::kDone;
  ASSIGN_OR_RETURN(const std::string expected, ReadFile(FLAGS_expect));
  ASSIGN_OR_RETURN(const std::vector<std::string> differences,
                   CompareWithExpectation(eval, expected, FLAGS_expect));
  for (const std::string& difference : differences) say(difference);
  return differences.empty() ? ExitCode::kDone : ExitCode::kCheckSaidNo;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
