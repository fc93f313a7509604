// Compares a run with a baseline: faster, slower, the same, or cannot tell.
//
//   bazel run //tools/duel -- --a=./old --b=./new |
//     bazel run //tools/compare_baseline -- --paired
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/flags.h"
#include "lib/base/tool/tool_info.h"
#include "lib/base/tool/tool_main.h"
#include "lib/gate/gate_metrics.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/run_compare.h"
#include "lib/imports/imports.h"

using feedrate::kDefaultGateMetrics;

DEFINE_string(
    current, "-",
    "FILE: rows, paired rows, a metrics file, or results of another harness; - "
    "means standard input");
DEFINE_string(eval, "", "FILE: eval file to compare with its baseline");
DEFINE_string(baselines, "",
              "FOLDER: folder that contains the baselines: "
              "<machine_profile>.metrics.json, .eval.json, .rows.jsonl and "
              ".calibration.jsonl");
DEFINE_string(baseline, "",
              "FILE: instead of a folder of baselines, the rows or results to "
              "compare with");
DEFINE_string(
    import, "",
    "HARNESS: what wrote --current, --baseline and --history; default: "
    "recognized by their content "
    "{google_benchmark|pytest_benchmark|pyperf|hyperfine|criterion|"
    "nvbench|asv|jmh|go|catch2|csv|albumentations}");
DEFINE_string(import_parameters, "",
              "LIST: columns of CSV tables that are parameters of a benchmark, "
              "such as n,threads; other numbers are results; `none`: all are");
DEFINE_bool(paired, false,
            "judge paired rows of a duel; the default if the rows are paired");
DEFINE_double(interest, 2,
              "PERCENT: smallest change of interest, for paired rows");
DEFINE_string(metrics, kDefaultGateMetrics,
              "LIST: what to judge of paired rows, such as time,memory:10,cpu: "
              "names with the smallest change of interest in percent and "
              "`higher` or `lower` for what is better");
DEFINE_double(
    max_cannot_tell, 5,
    "PERCENT: share of jobs that may be undecided before the exit code is 4");
DEFINE_double(
    min_compared, feedrate::CompareOptions().min_compared_percent,
    "PERCENT: share of the jobs of either side that must be compared; the exit "
    "code is 4 if it is less");
DEFINE_string(
    statistic, "typical",
    "WHAT: statistic of a run's samples that decides {typical|total|p90}");
DEFINE_string(tolerances, "",
              "FILE: tolerances; default: configs/gate/tolerances.textproto");
DEFINE_bool(tails, false, "also apply the tolerances for tails, such as p90");
DEFINE_string(format, "",
              "NAME: output format of the verdicts; default: text on a "
              "terminal, else jsonl {jsonl|text|markdown|junit|sarif|github}");
DEFINE_bool(any_version, false,
            "also compare rows with the baseline of another version of the "
            "library");
DEFINE_bool(require_all, false,
            "exit 4 unless every job of either side was compared: the same as "
            "--min_compared=100");
DEFINE_string(explain, "",
              "JOB: explain the decision on this job step by step: an id, or a "
              "pattern such as '*Flip'");
DEFINE_string(history, "",
              "FILES: instead of comparing, find change points in these files "
              "or folders of rows or results, separated by commas");
DEFINE_bool(update_baseline, false,
            "instead of comparing, make --current (and --eval) the baseline");
DEFINE_string(i_am_a_maintainer, "",
              "REASON: allow the update outside a clean checkout of main; the "
              "reason is recorded");
DEFINE_bool(calibrate, false,
            "instead of comparing, measure which slowdowns of --command this "
            "machine can detect, and store the result in --baselines");
DEFINE_string(command, "", "COMMAND: what --calibrate runs");
DEFINE_int32(duels, 10, "N: duels of each kind in --calibrate");
DEFINE_string(slowdowns, "1,2,3,5,10",
              "LIST: slowdowns in percent that --calibrate injects");
DEFINE_int32(max_pairs, 30,
             "N: maximum number of pairs per duel in --calibrate");
DEFINE_string(time, "auto",
              "WHAT: what --calibrate times: the rows that the command prints, "
              "or its wall time {auto|rows|wall}");
DEFINE_string(name, "",
              "TEXT: name of the job if --calibrate runs a plain command");
DEFINE_int64(seed, 1, "N: seed for the order within pairs in --calibrate");
DEFINE_bool(bisect_exit_codes, false,
            "exit as `git bisect run` expects: 0 nothing got slower, 1 "
            "something did, 125 cannot tell, 128 stop");
DEFINE_string(output, "-",
              "FILE: where to write the verdicts; - means standard output");
DEFINE_int32(
    limit, 20,
    "N: maximum number of jobs listed as same in --format=text; 0 means all");
DEFINE_string(configs, "",
              "FOLDER: folder that contains gate/tolerances.textproto; by "
              "default it is searched for beside the program");

namespace feedrate {
namespace {

ToolInfo Info() {
  ToolInfo info;
  info.name = "compare_baseline";
  info.summary = "decide whether something got slower";
  info.usage = "[--current=FILE] [--baselines=FOLDER] [flags]";
  info.description =
      "Reads rows, results of other harnesses, metrics or eval files and\n"
      "writes verdicts. Paired rows,\n"
      "which `duel` writes, are judged by an exact test: same, faster,\n"
      "slower, cannot_tell or invalid. Other rows, metrics and eval files are\n"
      "compared with the stored baseline of the same machine, within\n"
      "tolerances; noisy rows are cannot_tell. On a terminal the answer is\n"
      "a table, else records.\n"
      "Exit 0: nothing got slower; 2: a side crashed; 3: something got\n"
      "slower; 4: too many jobs are undecided, or too few were compared; 5:\n"
      "nothing is comparable.\n"
      "--bisect_exit_codes exits as `git bisect run` expects.";
  info.examples = {
      "duel --a=./old --b=./new | compare_baseline --paired",
      "compare_baseline --current=rows.jsonl --baselines=baselines",
      "compare_baseline --current=new.json --baseline=old.json",
      "compare_baseline --calibrate --command=./new --baselines=baselines",
      "compare_baseline --history=nightly/",
  };
  info.flag_files = {"tools/compare_baseline/main.cc"};
  return info;
}

absl::Status CheckFlags() {
  if (!FLAGS_format.empty()) {
    RETURN_IF_ERROR(CheckChoice("--format", FLAGS_format, VerdictFormats()));
  }
  RETURN_IF_ERROR(
      CheckChoice("--statistic", FLAGS_statistic, RunStatisticNames()));
  RETURN_IF_ERROR(CheckChoice("--time", FLAGS_time, {"auto", "rows", "wall"}));
  if (!FLAGS_import.empty()) {
    RETURN_IF_ERROR(CheckChoice("--import", FLAGS_import, ImportNames()));
  }
  if (!FLAGS_baseline.empty() && !FLAGS_baselines.empty()) {
    return absl::InvalidArgumentError(
        "--baseline and --baselines: use a file or a folder, not both");
  }
  if (!(FLAGS_interest > 0 && FLAGS_interest <= 100)) {
    return absl::InvalidArgumentError(
        "--interest: use a percentage above 0, at most 100");
  }
  if (!(FLAGS_max_cannot_tell >= 0 && FLAGS_max_cannot_tell <= 100)) {
    return absl::InvalidArgumentError("--max_cannot_tell: use 0 to 100");
  }
  if (!(FLAGS_min_compared >= 0 && FLAGS_min_compared <= 100)) {
    return absl::InvalidArgumentError("--min_compared: use 0 to 100");
  }
  if (FLAGS_limit < 0 || FLAGS_duels < 1 || FLAGS_max_pairs < 2) {
    return absl::InvalidArgumentError(
        "--limit: at least 0; --duels: at least 1; --max_pairs: at least 2");
  }
  const int instead =
      FLAGS_update_baseline + FLAGS_calibrate + !FLAGS_history.empty();
  if (instead > 1) {
    return absl::InvalidArgumentError(
        "--update_baseline, --calibrate and --history do not go together");
  }
  if ((FLAGS_update_baseline || FLAGS_calibrate) && FLAGS_baselines.empty()) {
    return absl::InvalidArgumentError(
        "--baselines: say in which folder baselines are kept");
  }
  if (FLAGS_calibrate && FLAGS_command.empty()) {
    return absl::InvalidArgumentError(
        "--command: say what --calibrate is to run");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Slowdowns() {
  std::vector<double> percents;
  for (const auto& part : absl::StrSplit(FLAGS_slowdowns, ',')) {
    double percent = 0;
    const bool rises = absl::SimpleAtod(part, &percent) && percent <= 1000 &&
                       percent > (percents.empty() ? 0 : percents.back());
    if (!rises) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--slowdowns: \"", FLAGS_slowdowns,
          "\" is not a rising list of percentages such as 1,2,3,5,10"));
    }
    percents.push_back(percent);
  }
  return percents;
}

absl::StatusOr<ExitCode> Compare() {
  RETURN_IF_ERROR(CheckFlags());
  CompareOptions options;
  options.current = FLAGS_current;
  options.eval = FLAGS_eval;
  options.baselines = FLAGS_baselines;
  options.baseline = FLAGS_baseline;
  options.import.harness = FLAGS_import;
  options.import.parameters =
      absl::StrSplit(FLAGS_import_parameters, ',', absl::SkipEmpty());
  options.paired = FLAGS_paired;
  options.interest_percent = FLAGS_interest;
  options.max_cannot_tell_percent = FLAGS_max_cannot_tell;
  options.min_compared_percent = FLAGS_min_compared;
  options.statistic = *ParseRunStatistic(FLAGS_statistic);
  ASSIGN_OR_RETURN(options.metrics, ParseMetricChoice(FLAGS_metrics));
  for (const char* flag : {"metrics", "interest"}) {
    if (gflags::GetCommandLineFlagInfoOrDie(flag).is_default) continue;
    options.pairs_flag = absl::StrCat("--", flag);
  }
  options.tolerances = FLAGS_tolerances;
  options.with_tails = FLAGS_tails;
  const bool is_terminal = FLAGS_output == "-" && isatty(STDOUT_FILENO) != 0;
  options.format = !FLAGS_format.empty() ? FLAGS_format
                   : is_terminal         ? "text"
                                         : "jsonl";
  options.any_version = FLAGS_any_version;
  options.require_all = FLAGS_require_all;
  options.explain = FLAGS_explain;
  options.maintainer_reason = FLAGS_i_am_a_maintainer;
  options.output = FLAGS_output;
  options.limit = FLAGS_limit;
  options.configs_folder = FLAGS_configs;
  options.warn = [](const std::string& text) {
    std::cerr << "compare_baseline: " << PrintableText(text) << "\n";
  };
  if (!FLAGS_history.empty()) {
    options.history = absl::StrSplit(FLAGS_history, ',');
    return RunHistory(options);
  }
  if (FLAGS_update_baseline) return RunUpdate(options);
  if (!FLAGS_calibrate) return RunCompare(options);
  options.calibrate_command = FLAGS_command;
  options.calibrate_name = FLAGS_name;
  options.calibrate_timing = FLAGS_time;
  options.calibrate_duels = FLAGS_duels;
  options.calibrate_max_pairs = FLAGS_max_pairs;
  options.calibrate_seed = FLAGS_seed;
  ASSIGN_OR_RETURN(options.calibrate_slowdowns, Slowdowns());
  return RunCalibrate(options);
}

// What `git bisect run` understands: good, bad, "this commit cannot be judged",
// and "stop", for mistakes that would happen at every commit.
ExitCode GitBisectExitCode(const absl::StatusOr<ExitCode>& code) {
  constexpr auto kSkip = static_cast<ExitCode>(125);
  constexpr auto kStop = static_cast<ExitCode>(128);
  if (!code.ok()) return kStop;
  switch (*code) {
    case ExitCode::kDone:
    case ExitCode::kInterrupted:
      return *code;
    case ExitCode::kCheckSaidNo:
      return static_cast<ExitCode>(1);
    case ExitCode::kCallersMistake:
      return kStop;
    default:
      return kSkip;
  }
}

absl::StatusOr<ExitCode> RunFromFlags(const std::vector<std::string>&) {
  const absl::StatusOr<ExitCode> code = Compare();
  if (!FLAGS_bisect_exit_codes) return code;
  if (!code.ok()) {
    std::cerr << "compare_baseline: " << PrintableText(code.status().message())
              << "\n";
  }
  return GitBisectExitCode(code);
}

}  // namespace
}  // namespace feedrate

int main(int argc, char** argv) {
  return feedrate::ToolMain(argc, argv, feedrate::Info(),
                            feedrate::RunFromFlags);
}
