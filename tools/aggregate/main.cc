// Turns rows into tables of statistics.
//
//   bazel run //tools/aggregate -- --by=library,transform $PWD/rows.jsonl
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gflags/gflags.h"
#include "lib/analysis/aggregate/run_aggregate.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/tool_main.h"
#include "lib/records/record_io.h"

DEFINE_string(by, "scenario,mode,scope,library,transform,device",
              "FIELDS: of a row that tell groups apart");
DEFINE_string(where, "",
              "EXPRESSION: rows to use, such as status==\"ok\" && "
              "device==\"cpu\"");
DEFINE_string(pivot, "", "FIELD: of --by whose values become columns");
DEFINE_string(sort, "",
              "KEYS: fields of --by or runs, median, mean, sd, cv, min, max, "
              "rank, ratio; -KEY is descending");
DEFINE_string(format, "table",
              "NAME: of the output {table|markdown|csv|latex|json|jsonl}");
DEFINE_string(mix, "",
              "FIELDS: to mix although rows that differ in them should not "
              "be, such as machine_profile");
DEFINE_string(relative_to, "", "LIBRARY: also print speed-ups over this one");
DEFINE_bool(any_work, false,
            "speed-ups also between rows not known to do the same work");
DEFINE_bool(runs_needed, false,
            "print the jobs that would separate close calls instead");
DEFINE_string(import, "",
              "NAME: also read .json result files of {albumentations}");
DEFINE_string(output, "-", "FILE: where it goes; - is standard output");
DEFINE_string(color, "auto",
              "WHEN: the best in bold and colour {auto|always|never}");
DEFINE_int32(threads, 0, "N: threads that read; 0 is one for each processor");
DEFINE_string(configs, "",
              "FOLDER: where policy.textproto is; found by itself beside the "
              "program");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "aggregate";
  info.summary = "runs to statistics";
  info.usage = "[flags] [FILE|FOLDER|-...]";
  info.description =
      "Reads rows (JSON lines), puts those that agree in the fields of --by\n"
      "into a group, and prints median, 95% interval, deviation and rank of\n"
      "each. Only the last attempt at a run counts. What failed or is\n"
      "unsupported is listed with its reason and never averaged; rows of\n"
      "different machines, batch sizes, versions or data are never mixed.";
  info.examples = {
      "micro --config=configs/demo.textproto | aggregate",
      "aggregate --by=library,transform --pivot=library results/",
      "aggregate --by=transform,library --relative_to=opencv "
      "--where='device==\"cpu\"' --format=latex rows.jsonl",
      "aggregate --runs_needed rows.jsonl | micro --jobs=- >> rows.jsonl",
  };
  info.takes_arguments = true;
  info.flag_files = {"tools/aggregate/main.cc"};
  return info;
}

std::vector<std::string> List(const std::string& flag) {
  return absl::StrSplit(flag, ',', absl::SkipEmpty());
}

bool WantsColor() {
  if (FLAGS_color != "auto") return FLAGS_color == "always";
  return FLAGS_output == "-" && isatty(STDOUT_FILENO) == 1 &&
         std::getenv("NO_COLOR") == nullptr;
}

AggregateRun RunOfFlags(const std::vector<std::string>& arguments) {
  AggregateRun run;
  run.paths = arguments;
  run.options.by = List(FLAGS_by);
  run.options.where = FLAGS_where;
  run.options.mix = List(FLAGS_mix);
  run.options.relative_to = FLAGS_relative_to;
  run.options.any_work = FLAGS_any_work;
  run.options.threads = FLAGS_threads;
  run.format = FLAGS_format;
  run.pivot = FLAGS_pivot;
  run.sort = List(FLAGS_sort);
  run.color = WantsColor();
  run.import = FLAGS_import;
  run.runs_needed = FLAGS_runs_needed;
  run.configs_folder = FLAGS_configs;
  run.warn = [](const std::string& text) {
    std::cerr << "aggregate: " << text << "\n";
  };
  return run;
}

absl::StatusOr<ExitCode> RunFromFlags(
    const std::vector<std::string>& arguments) {
  ASSIGN_OR_RETURN(const AggregateAnswer answer,
                   RunAggregate(RunOfFlags(arguments)));
  if (answer.code != ExitCode::kDone) return answer.code;
  if (FLAGS_output != "-") {
    RETURN_IF_ERROR(WriteFileAtomically(FLAGS_output, answer.text));
    return ExitCode::kDone;
  }
  RecordWriter writer(STDOUT_FILENO, "standard output",
                      RecordWriter::Flush::kWhenFull);
  RETURN_IF_ERROR(writer.WriteText(answer.text));
  return ExitCode::kDone;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
