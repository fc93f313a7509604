// Prints operations and bytes of a model per part, and how the cost of sequence
// mixers grows with the length.
//
//   bazel run //tools/flops -- --model=vit5_small
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/model/flops_report.h"
#include "lib/records/json.h"

DEFINE_string(model, "vit5_small",
              "NAMES: models, separated by commas: vit5_base, vit5_small, "
              "vit5_tiny, byte_lm_small, byte_lm_tiny, or one layer of "
              "attention, hyena, ckconv; `mixers` means all three layers");
DEFINE_string(lengths, "128,256,512,1024,2048,4096,8192,16384,32768,65536",
              "LIST: sequence lengths, for mixers");
DEFINE_int64(width, 384, "N: width of the mixers");
DEFINE_int64(
    batch_size, 1,
    "N: samples that share one read of the weights; affects only bytes");
DEFINE_string(precision, "bf16",
              "NAME: type of the values; affects only bytes {fp32|bf16}");
DEFINE_string(format, "table",
              "NAME: output format {table|markdown|jsonl|svg}");
DEFINE_string(output, "-", "FILE: where to write; - means standard output");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "flops";
  info.summary = "count the operations of a model by part, and how they grow";
  info.usage = "[--model=NAMES] [flags]";
  info.description =
      "Computes operations, parameters and bytes per sample from the shapes\n"
      "of the model, and writes a table, records or a figure. train uses the\n"
      "same counts to report how much of a device is used. A multiplication\n"
      "with its addition counts as two operations, and the total contains\n"
      "only matrix products. --format=svg draws how the cost of one layer of\n"
      "attention, Hyena and CKConv grows with the sequence length.";
  info.examples = {
      "flops --model=vit5_small",
      "flops --model=vit5_tiny,byte_lm_tiny --format=jsonl",
      "flops --model=mixers --format=svg --output=scaling.svg",
  };
  info.flag_files = {"tools/flops/main.cc"};
  return info;
}

absl::Status CheckChoice(const std::string& flag, const std::string& value,
                         const std::vector<std::string>& choices) {
  for (const std::string& choice : choices) {
    if (value == choice) return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--", flag, ": \"", value, "\" is unknown", DidYouMean(value, choices)));
}

absl::StatusOr<FlopsOptions> OptionsFromFlags() {
  RETURN_IF_ERROR(CheckChoice("format", FLAGS_format,
                              {"table", "markdown", "jsonl", "svg"}));
  RETURN_IF_ERROR(CheckChoice("precision", FLAGS_precision, {"fp32", "bf16"}));
  FlopsOptions options;
  for (const auto& name : absl::StrSplit(FLAGS_model, ',', absl::SkipEmpty())) {
    if (name == "mixers") {
      options.models.insert(options.models.end(),
                            {"attention", "hyena", "ckconv"});
    } else {
      options.models.emplace_back(name);
    }
  }
  if (options.models.empty()) {
    return absl::InvalidArgumentError("--model: names no model");
  }
  for (const auto& text :
       absl::StrSplit(FLAGS_lengths, ',', absl::SkipEmpty())) {
    int64_t length = 0;
    if (!absl::SimpleAtoi(text, &length)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--lengths: \"", text, "\" is not a number"));
    }
    options.lengths.push_back(length);
  }
  options.width = FLAGS_width;
  options.batch_size = FLAGS_batch_size;
  options.bytes_per_value = FLAGS_precision == "fp32" ? 4 : 2;
  return options;
}

absl::StatusOr<std::string> Render(const std::vector<Flops>& records) {
  if (FLAGS_format == "svg") return FlopsFigure(records);
  if (FLAGS_format != "jsonl") {
    return FlopsTable(records, FLAGS_format == "markdown");
  }
  std::string text;
  for (const Flops& record : records) AppendRecord(record, &text);
  return text;
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  ASSIGN_OR_RETURN(FlopsOptions options, OptionsFromFlags());
  // A figure of a model would be empty: by default, show the mixers.
  if (FLAGS_format == "svg" &&
      gflags::GetCommandLineFlagInfoOrDie("model").is_default) {
    options.models = {"attention", "hyena", "ckconv"};
  }
  ASSIGN_OR_RETURN(const std::vector<Flops> records, FlopsRecords(options));
  ASSIGN_OR_RETURN(const std::string text, Render(records));
  if (FLAGS_output == "-") {
    std::cout << text;
  } else {
    RETURN_IF_ERROR(WriteFileAtomically(FLAGS_output, text));
  }
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
