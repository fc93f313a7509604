// Turns rows into tables of statistics.
//
//   bazel run //tools/aggregate -- --by=library,transform $PWD/rows.jsonl
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "lib/analysis/aggregate/run_aggregate.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_main.h"
#include "lib/records/record_io.h"

DEFINE_string(by, "scenario,mode,scope,library,transform,device",
              "FIELDS: row fields that define a group; the default also splits "
              "groups by any other setting in which their rows differ");
DEFINE_string(metric, "throughput",
              "FIELD: number to compute statistics of, at any depth, such as "
              "rss_peak_bytes or loader.gpu.busy");
DEFINE_string(
    where, "",
    "EXPRESSION: which rows to use, such as status==\"ok\" && device==\"cpu\"");
DEFINE_string(pivot, "", "FIELD: field of --by whose values become columns");
DEFINE_string(sort, "",
              "KEYS: fields of --by, or runs, median, mean, sd, cv, min, max, "
              "rank, ratio; -KEY sorts in descending order");
DEFINE_string(format, "table",
              "NAME: output format {table|markdown|csv|latex|json|jsonl}");
DEFINE_string(mix, "",
              "FIELDS: fields in which the rows of a group may differ although "
              "they normally must agree, such as machine_profile");
DEFINE_string(relative_to, "", "BASE: also print speed-ups over this library");
DEFINE_bool(
    any_work, false,
    "also print speed-ups between rows that are not known to do the same work");
DEFINE_bool(runs_needed, false,
            "instead of the table, print the jobs to run again to separate "
            "groups that are too close to call");
DEFINE_bool(rerun_noisy, false,
            "instead of the table, print the jobs that measure noisy, "
            "contended and throttled runs again");
DEFINE_string(
    again, "",
    "JOB: instead of the table, print the jobs that repeat these "
    "rows: an id, or a pattern such as '*Flip' or '*'; feedrate again "
    "runs them");
DEFINE_bool(elsewhere, false,
            "also show where the median of another execution lies in 95 of 100 "
            "cases: on another machine or another day, if the rows are of "
            "three of them");
DEFINE_string(import, "",
              "HARNESS: what wrote the files that are no rows; default: "
              "recognized by their content "
              "{google_benchmark|pytest_benchmark|pyperf|hyperfine|criterion|"
              "nvbench|asv|jmh|go|catch2|csv|albumentations}");
DEFINE_string(import_parameters, "",
              "LIST: columns of CSV tables that are parameters of a benchmark, "
              "such as n,threads; other numbers are results; `none`: all are");
DEFINE_string(output, "-", "FILE: where to write; - means standard output");
DEFINE_string(color, "auto",
              "WHEN: show values that the data prove fastest in bold and color "
              "{auto|always|never}");
DEFINE_int32(threads, 0,
             "N: number of reader threads; 0 means one per processor");
DEFINE_string(configs, "",
              "FOLDER: folder that contains policy.textproto; by default it is "
              "searched for beside the program");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "aggregate";
  info.summary = "compute statistics from rows";
  info.usage = "[flags] [FILE|FOLDER|-...]";
  info.description =
      "Reads rows (JSON lines), or results of other benchmark harnesses, from\n"
      "files, folders or standard input (-), and prints the median, 95% "
      "interval, spread and rank of each group. Rows\n"
      "that agree in the fields of --by form a group. Only the cleanest\n"
      "attempt at a run counts. Failed and unsupported rows are listed with\n"
      "their reason and never averaged. Different work, machines, versions or\n"
      "data are never mixed unless --mix allows it. A rank or speed-up is\n"
      "shown only if the runs prove it; otherwise the row is tied.";
  info.examples = {
      "micro --config=configs/demo.textproto | aggregate",
      "aggregate --by=library,transform --pivot=library results/",
      "aggregate --by=transform,library --relative_to=opencv "
      "--where='device==\"cpu\"' --format=latex rows.jsonl",
      "aggregate --metric=rss_peak_bytes --by=library,transform rows.jsonl",
      "./my_benchmark --benchmark_format=json | aggregate",
      "aggregate --runs_needed rows.jsonl | micro --jobs=- >> rows.jsonl",
      "aggregate --rerun_noisy rows.jsonl | micro --jobs=- >> rows.jsonl",
      "aggregate --elsewhere --by=transform,library nightly/",
  };
  info.reads_files = true;
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
  run.options.split = gflags::GetCommandLineFlagInfoOrDie("by").is_default;
  run.options.metric = FLAGS_metric;
  run.options.where = FLAGS_where;
  run.options.mix = List(FLAGS_mix);
  run.options.relative_to = FLAGS_relative_to;
  run.options.any_work = FLAGS_any_work;
  run.options.threads = FLAGS_threads;
  run.format = FLAGS_format;
  run.pivot = FLAGS_pivot;
  run.sort = List(FLAGS_sort);
  run.color = WantsColor();
  run.import.harness = FLAGS_import;
  run.import.parameters =
      absl::StrSplit(FLAGS_import_parameters, ',', absl::SkipEmpty());
  run.runs_needed = FLAGS_runs_needed;
  run.rerun_noisy = FLAGS_rerun_noisy;
  run.repeats = !FLAGS_again.empty();
  run.again = FLAGS_again;
  run.elsewhere = FLAGS_elsewhere;
  run.configs_folder = FLAGS_configs;
  run.warn = [](const std::string& text) {
    std::cerr << "aggregate: " << PrintableText(text) << "\n";
  };
  return run;
}

absl::StatusOr<ExitCode> RunFromFlags(
    const std::vector<std::string>& arguments) {
  RETURN_IF_ERROR(
      CheckChoice("--color", FLAGS_color, {"auto", "always", "never"}));
  ASSIGN_OR_RETURN(const AggregateAnswer answer,
                   RunAggregate(RunOfFlags(arguments)));
  if (answer.text.empty() && answer.code != ExitCode::kDone) {
    return answer.code;
  }
  if (FLAGS_output != "-") {
    RETURN_IF_ERROR(WriteFileAtomically(FLAGS_output, answer.text));
    return answer.code;
  }
  RecordWriter writer(STDOUT_FILENO, "standard output",
                      RecordWriter::Flush::kWhenFull);
  RETURN_IF_ERROR(writer.WriteText(answer.text));
  return answer.code;
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
