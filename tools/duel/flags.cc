#include "tools/duel/flags.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/flags.h"
#include "lib/gate/duel/distrust.h"
#include "lib/gate/duel/duel.h"
#include "lib/gate/duel/duel_sides.h"
#include "lib/gate/gate_metrics.h"
#include "lib/machine/cpu.h"
#include "lib/machine/root.h"
#include "lib/stats/paired_design.h"

using feedrate::kDefaultGateMetrics;

DEFINE_string(a, "", "COMMAND: the baseline");
DEFINE_string(b, "",
              "COMMAND: the candidate; repeat it to run several, each against "
              "A; commands without a flag are the baseline, if --a is not "
              "given, and then candidates");
DEFINE_string(both, "",
              "COMMAND: in place of --a and --b, one program that has both "
              "sides in one process: for each line `a` or `b` on its standard "
              "input it runs that side, and prints its rows and an empty line "
              "(feedrate.sides does that in Python)");
DEFINE_string(parameter, "",
              "NAME=VALUE,VALUE: run all commands with {NAME} replaced by each "
              "value; repeat it for all combinations");
DEFINE_string(setup, "", "COMMAND: run this once before the first run");
DEFINE_string(prepare, "",
              "COMMAND: run this before each timed run; {side} is a or b");
DEFINE_string(
    cleanup, "",
    "COMMAND: run this once after the last run, also after a failure");
DEFINE_double(error_level, 0,
              "PERCENT: chance of calling an unchanged suite slower or faster; "
              "less takes more pairs, and duel prints how many; 0 means 1 for "
              "a suite of up to 500 jobs");
DEFINE_bool(skip_identical, false,
            "do not run programs that have the same bytes, apart from build "
            "ids; they are the same");
DEFINE_bool(controls, true,
            "run short reference workloads after each run, and in every second "
            "pair A in the place of B; if these differ between the sides, only "
            "larger changes get a verdict");
DEFINE_bool(vary_environment, true,
            "change the size of the environment, and with it addresses on the "
            "stack, from pair to pair");
DEFINE_string(relink, "",
              "COMMAND: link the programs again before each pair, with {seed} "
              "for the layout, so that intervals include effects of layout; "
              "with {side} (a or b) it runs once per side");
DEFINE_int32(relink_every, 0,
             "N: runs of each side per layout, which count as one pair; 0 "
             "means 1, and 3 with --floor");
DEFINE_bool(floor, false,
            "measure how much layout alone moves A: runs A against A, linked "
            "again by --relink for each side");
DEFINE_string(export, "",
              "FILE: write a table of the results there, in the format of "
              "--format");
DEFINE_string(format, "",
              "NAME: format of --export; default: by the ending of its name "
              "{csv|markdown|json}");
DEFINE_int32(pairs, 0,
             "N: run exactly this many pairs; 0 means 8, and more if those do "
             "not decide");
DEFINE_int32(max_pairs, 30, "N: maximum number of pairs if --pairs is 0");
DEFINE_double(interest, 2, "PERCENT: smallest change of interest");
DEFINE_double(noise, 0,
              "PERCENT: how much the ratio of a pair scatters; runs as many "
              "pairs, up to --max_pairs, as it takes to detect a change of "
              "interest 95 times in 100; 0 uses --max_pairs");
DEFINE_int32(
    jobs_expected, 1,
    "N: number of jobs that the commands print; used only with --noise and to "
    "tell what the error level costs");
DEFINE_int64(
    seed, 0,
    "N: seed for the order within pairs; 0 means a new seed each time");
DEFINE_string(time, "auto",
              "WHAT: what to time: the rows that the commands print, or the "
              "wall time of the commands; --rows is short for --time=rows "
              "{auto|rows|wall}");
DEFINE_string(
    statistic, "typical",
    "WHAT: statistic of a run's samples that decides {typical|total|p90}");
DEFINE_string(metrics, kDefaultGateMetrics,
              "LIST: what to judge, such as time,memory:10,cpu: names with the "
              "smallest change of interest in percent and `higher` or `lower` "
              "for what is better; undecided metrics get more pairs");
DEFINE_string(cpus, "",
              "LIST: pin both commands to these processors, such as 2-3; "
              "default: the processors that duel itself may use");
DEFINE_string(
    shell, "/bin/sh",
    "PROGRAM: shell that runs the commands; `none` starts them directly");
DEFINE_double(timeout, 0,
              "SECONDS: kill a command after this time; 0 means never");
DEFINE_int32(warmup, 1,
             "N: warm-up runs of each plain command, which do not count");
DEFINE_string(name, "",
              "TEXT: name of the job if the commands are plain commands");
DEFINE_string(only, "",
              "JOB: run only this job: an id, or a pattern such as '*Flip'");
DEFINE_string(
    rerun, "suspects",
    "WHAT: later stages run only the undecided jobs, by adding --jobs=FILE to "
    "the commands, or run the whole commands again {suspects|all}");
DEFINE_string(output, "-",
              "FILE: where to write records; - means standard output, and "
              "nowhere if that is a terminal");
DEFINE_bool(ignore_failure, false, "ignore the exit codes of the commands");
DEFINE_double(slow_b, 0,
              "PERCENT: slow B down with a busy loop, to test the gate");
DEFINE_int32(profile, 0,
             "N: afterwards, profile both commands in N more pairs, and rank "
             "functions by their share of the change; 0 means none");
DEFINE_string(profiler, "auto",
              "NAME: what --profile uses; auto takes python for Python "
              "commands, else perf {auto|perf|python}");
DEFINE_bool(distrust, false,
            "nobody trusts the commands: {seed} in them becomes a new number "
            "in each pair, both sides must print the same for it, and they run "
            "confined; docs/distrust.md says what that promises");
DEFINE_bool(bisect, false,
            "instead of a duel, find the commit between --good and --bad that "
            "changed the time of --command");
DEFINE_string(good, "", "REVISION: commit before the change, for --bisect");
DEFINE_string(bad, "", "REVISION: commit with the change, for --bisect");
DEFINE_string(build, "",
              "COMMAND: builds a commit in the top folder of its worktree, for "
              "--bisect; default: nothing to build");
DEFINE_string(command, "",
              "COMMAND: what --bisect measures, in the same folder");
DEFINE_string(repository, ".", "FOLDER: the git repository for --bisect");
DEFINE_string(worktrees, "",
              "FOLDER: keep the worktrees and builds of --bisect here for the "
              "next search; default: a temporary folder");
DEFINE_double(confidence, 99,
              "PERCENT: --bisect stops when a commit is this probable");
DEFINE_bool(quiet, false, "print no progress and no summary on standard error");

namespace feedrate {
namespace {

constexpr char kFlagFile[] = "tools/duel/flags.cc";

}  // namespace

ToolInfo DuelInfo() {
  ToolInfo info;
  info.name = "duel";
  info.summary =
      "run two commands alternately on one machine and compare their speed";
  info.usage = "--a=COMMAND --b=COMMAND [flags]";
  info.takes_arguments = true;
  info.description =
      "Runs both commands in pairs, in random order within each pair, and\n"
      "writes paired rows: the rows that the commands print, or else one row\n"
      "with the wall time. From 8 pairs on, only jobs that are still "
      "undecided\n"
      "continue. Progress and a summary go to standard error.\n"
      "compare_baseline --paired reads the rows and gives the verdicts.\n"
      "--bisect finds the commit that made a command slower: it repeats\n"
      "commits in doubt until one is --confidence probable.\n"
      "Exit 0: done, whatever the result; 2: a command did not run to\n"
      "completion; 4: --bisect cannot tell.";
  info.examples = {
      "duel --a='./old' --b='./new' > rows.jsonl",
      "duel --a='old/micro --config=c.textproto' "
      "--b='new/micro --config=c.textproto' | compare_baseline --paired",
      "duel --a='gzip -k -c big' --b='pigz -k -c big' --cpus=0-1 > /dev/null",
      "duel --bisect --good=v1.2 --bad=main --build='make -j8' "
      "--command='./bench'",
      "duel 'sort f{n}' './mine f{n}' './other f{n}' --parameter=n=1,2,4 "
      "--setup='./make_files' --cleanup='rm f1 f2 f4' --export=sort.md",
      "duel --a=old/prog --b=new/prog --relink='./link.sh {side} {seed}'",
      "duel --distrust --a='old/prog --seed={seed}' "
      "--b='theirs/prog --seed={seed}'",
  };
  info.flag_files = {kFlagFile};
  return info;
}

namespace {

absl::Status CheckBisectFlags() {
  if (FLAGS_good.empty() || FLAGS_bad.empty() || FLAGS_command.empty()) {
    return absl::InvalidArgumentError(
        "--bisect: give --good=REVISION, --bad=REVISION and "
        "--command=COMMAND");
  }
  if (!FLAGS_a.empty() || !FLAGS_b.empty()) {
    return absl::InvalidArgumentError(
        "--a, --b: --bisect takes one --command and runs it in each commit");
  }
  if (!(FLAGS_confidence > 50 && FLAGS_confidence < 100)) {
    return absl::InvalidArgumentError(
        "--confidence: use a percentage above 50 and below 100");
  }
  return absl::OkStatus();
}

// The format of --export, from --format or the ending of the file's name.
std::string ExportFormat() {
  if (!FLAGS_format.empty()) return FLAGS_format;
  const size_t dot = FLAGS_export.rfind('.');
  const std::string ending =
      dot == std::string::npos ? "" : FLAGS_export.substr(dot + 1);
  return ending == "md" ? "markdown" : ending;
}

// Between the values of a flag that is given several times.
constexpr char kNextValue = '\x1f';

// Half of them with the same layout on both sides.
constexpr int kFloorPairs = 20;
constexpr int kLeastFloorPairs = 4;

std::vector<int> LooksFromFlags(int64_t jobs) {
  if (FLAGS_pairs > 0) return {FLAGS_pairs};
  if (FLAGS_floor) return {std::min(FLAGS_max_pairs, kFloorPairs)};
  const double level = FLAGS_error_level > 0
                           ? FLAGS_error_level / 100 / static_cast<double>(jobs)
                           : LevelFor(jobs);
  if (FLAGS_noise > 0) {
    return LooksFor(FLAGS_noise / 100, level, FLAGS_interest, FLAGS_max_pairs);
  }
  return DefaultLooks(FLAGS_max_pairs, level);
}

absl::Status CheckDistrustFlags() {
  for (const absl::string_view command : absl::StrSplit(
           absl::StrCat(FLAGS_a, std::string(1, kNextValue), FLAGS_b),
           kNextValue)) {
    if (!absl::StrContains(command, kSeedPlace)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--distrust: no {seed} in \"", command,
                       "\", so it could print what it knows from before"));
    }
  }
  if (FLAGS_bisect || FLAGS_floor || FLAGS_profile > 0 ||
      !FLAGS_relink.empty() || !FLAGS_only.empty() || FLAGS_ignore_failure ||
      FLAGS_time == "rows") {
    return absl::InvalidArgumentError(
        "--distrust takes the time of whole commands; leave out --bisect, "
        "--floor, --profile, --relink, --only, --ignore_failure and "
        "--time=rows");
  }
  return absl::OkStatus();
}

absl::Status CheckBothFlags() {
  if (!FLAGS_a.empty() || !FLAGS_b.empty()) {
    return absl::InvalidArgumentError(
        "--both: the program has both sides; leave out --a and --b");
  }
  if (FLAGS_distrust || FLAGS_bisect || FLAGS_floor || FLAGS_profile > 0 ||
      !FLAGS_relink.empty() || !FLAGS_only.empty() ||
      !FLAGS_parameter.empty() || FLAGS_slow_b > 0 || FLAGS_time == "wall") {
    return absl::InvalidArgumentError(
        "--both: its process prints rows and goes on from run to run; leave "
        "out --distrust, --bisect, --floor, --profile, --relink, --only, "
        "--parameter, --slow_b and --time=wall");
  }
  return absl::OkStatus();
}

absl::Status CheckFlags() {
  if (!FLAGS_both.empty()) {
    RETURN_IF_ERROR(CheckBothFlags());
    FLAGS_a = FLAGS_b = FLAGS_both;
    FLAGS_time = "rows";
  }
  if (FLAGS_distrust) RETURN_IF_ERROR(CheckDistrustFlags());
  if (FLAGS_bisect) {
    RETURN_IF_ERROR(CheckBisectFlags());
  } else if (FLAGS_floor) {
    if (FLAGS_relink.empty() || FLAGS_a.empty()) {
      return absl::InvalidArgumentError(
          "--floor: also give --a and --relink='COMMAND with {seed}'");
    }
    if (!FLAGS_b.empty()) {
      return absl::InvalidArgumentError(
          "--floor: runs A against itself; leave out --b");
    }
    if (LooksFromFlags(1)[0] < kLeastFloorPairs) {
      return absl::InvalidArgumentError(
          absl::StrCat("--floor: use at least ", kLeastFloorPairs, " pairs"));
    }
  } else if (FLAGS_a.empty() || FLAGS_b.empty()) {
    return absl::InvalidArgumentError(
        "--a and --b: give both commands, such as --a='./old' --b='./new'");
  }
  if (!FLAGS_relink.empty() && !absl::StrContains(FLAGS_relink, "{seed}")) {
    return absl::InvalidArgumentError(
        "--relink: without {seed} each layout would be the same");
  }
  if (FLAGS_relink_every < 0) {
    return absl::InvalidArgumentError("--relink_every: use at least 1, or 0");
  }
  if (FLAGS_relink_every > 0 && FLAGS_relink.empty()) {
    return absl::InvalidArgumentError(
        "--relink_every: also give --relink='COMMAND with {seed}'");
  }
  if (!(FLAGS_error_level >= 0 && FLAGS_error_level <= 20)) {
    return absl::InvalidArgumentError(
        "--error_level: use a percentage above 0, at most 20");
  }
  if (FLAGS_jobs_expected < 1) {
    return absl::InvalidArgumentError("--jobs_expected: use at least 1");
  }
  if (!FLAGS_export.empty() || !FLAGS_format.empty()) {
    RETURN_IF_ERROR(CheckChoice(FLAGS_format.empty() ? "--export" : "--format",
                                ExportFormat(), {"csv", "markdown", "json"}));
  }
  RETURN_IF_ERROR(CheckChoice("--time", FLAGS_time, {"auto", "rows", "wall"}));
  RETURN_IF_ERROR(
      CheckChoice("--statistic", FLAGS_statistic, RunStatisticNames()));
  RETURN_IF_ERROR(CheckChoice("--rerun", FLAGS_rerun, {"suspects", "all"}));
  RETURN_IF_ERROR(
      CheckChoice("--profiler", FLAGS_profiler, {"auto", "perf", "python"}));
  if (FLAGS_profile < 0) {
    return absl::InvalidArgumentError("--profile: use at least 0 pairs");
  }
  if (FLAGS_pairs < 0) {
    return absl::InvalidArgumentError("--pairs: use at least 1, or 0");
  }
  if (FLAGS_max_pairs < 2) {
    return absl::InvalidArgumentError("--max_pairs: use at least 2");
  }
  if (!(FLAGS_interest > 0 && FLAGS_interest <= 100)) {
    return absl::InvalidArgumentError(
        "--interest: use a percentage above 0, at most 100");
  }
  if (!(FLAGS_slow_b >= 0 && FLAGS_slow_b <= 1000)) {
    return absl::InvalidArgumentError("--slow_b: use 0 to 1000 percent");
  }
  if (!(FLAGS_timeout >= 0) || FLAGS_warmup < 0 || !(FLAGS_noise >= 0)) {
    return absl::InvalidArgumentError(
        "--timeout, --warmup, --noise: use at least 0");
  }
  return absl::OkStatus();
}

// Plain commands have one job per contest.
int64_t ExpectedJobs(const DuelOptions& options) {
  int64_t jobs = FLAGS_jobs_expected * (1 + options.more_b.size());
  for (const auto& parameter : options.parameters) {
    jobs *= parameter.second.size();
  }
  return jobs;
}

// The flags that repeat the duel of two commands: those that say how they run
// and what is judged. A command with a parameter in it has no meaning without
// the parameter's values.
std::vector<std::string> FlagsToRepeat(const DuelParameters& parameters) {
  static constexpr absl::string_view kLeftOut[] = {
      "a",     "b",         "export",  "format",   "name",  "only",  "output",
      "pairs", "parameter", "profile", "profiler", "quiet", "rerun", "seed"};
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  std::vector<std::string> repeated;
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    if (flag.is_default || !absl::EndsWith(flag.filename, kFlagFile) ||
        absl::c_linear_search(kLeftOut, flag.name)) {
      continue;
    }
    const bool has_parameter =
        absl::c_any_of(parameters, [&](const auto& parameter) {
          return absl::StrContains(flag.current_value,
                                   absl::StrCat("{", parameter.first, "}"));
        });
    if (has_parameter) continue;
    repeated.push_back(absl::StrCat("--", flag.name, "=", flag.current_value));
  }
  return repeated;
}

absl::StatusOr<DuelOptions> OptionsFromFlags() {
  DuelOptions options;
  options.a = FLAGS_a;
  options.both = FLAGS_both;
  std::vector<std::string> candidates = absl::StrSplit(FLAGS_b, kNextValue);
  options.b = candidates[0];
  options.more_b.assign(candidates.begin() + 1, candidates.end());
  std::sort(candidates.begin(), candidates.end());
  const auto twice = std::adjacent_find(candidates.begin(), candidates.end());
  if (twice != candidates.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--b: \"", *twice, "\" is given twice"));
  }
  for (const absl::string_view text :
       absl::StrSplit(FLAGS_parameter, kNextValue, absl::SkipEmpty())) {
    ASSIGN_OR_RETURN(auto parameter, ParseParameter(std::string(text)));
    if (!absl::StrContains(absl::StrCat(FLAGS_a, FLAGS_b, FLAGS_setup),
                           absl::StrCat("{", parameter.first, "}"))) {
      return absl::InvalidArgumentError(
          absl::StrCat("--parameter: no command has {", parameter.first, "}"));
    }
    options.parameters.push_back(std::move(parameter));
  }
  options.flags = FlagsToRepeat(options.parameters);
  options.looks = LooksFromFlags(ExpectedJobs(options));
  options.setup = FLAGS_setup;
  options.prepare = FLAGS_prepare;
  options.cleanup = FLAGS_cleanup;
  options.error_percent = FLAGS_error_level;
  options.skip_identical = FLAGS_skip_identical;
  options.controls = FLAGS_controls && !FLAGS_floor;
  options.vary_environment = FLAGS_vary_environment;
  options.relink = FLAGS_relink;
  options.floor = FLAGS_floor;
  options.runs_per_layout = FLAGS_relink_every > 0 ? FLAGS_relink_every
                            : FLAGS_floor          ? 3
                                                   : 1;
  options.interest_percent = FLAGS_interest;
  options.seed = FLAGS_seed != 0 ? FLAGS_seed : std::random_device()();
  options.timing = FLAGS_distrust || FLAGS_time == "wall" ? DuelTiming::kWall
                   : FLAGS_time == "rows"                 ? DuelTiming::kRows
                                                          : DuelTiming::kAuto;
  options.statistic = *ParseRunStatistic(FLAGS_statistic);
  ASSIGN_OR_RETURN(options.metrics, ParseMetricChoice(FLAGS_metrics));
  if (FLAGS_distrust && NeedsAllocationCounter(options.metrics)) {
    return absl::InvalidArgumentError(
        "--metrics: allocations are counted inside the commands, which "
        "--distrust does not trust");
  }
  options.shell = FLAGS_shell == "none" ? "" : FLAGS_shell;
  options.timeout_s = FLAGS_timeout;
  options.warmup = FLAGS_warmup;
  options.name = FLAGS_name;
  options.only = FLAGS_only;
  options.rerun_all = FLAGS_rerun == "all";
  options.ignore_failure = FLAGS_ignore_failure;
  options.slow_b_percent = FLAGS_slow_b;
  const std::vector<int> usable = ReadAffinity(Root("/"));
  options.cpus = FLAGS_cpus.empty() ? usable : ParseCpuList(FLAGS_cpus);
  for (const int cpu : options.cpus) {
    if (std::find(usable.begin(), usable.end(), cpu) == usable.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--cpus: processor ", cpu, " is not one that duel may use"));
    }
  }
  if (options.cpus.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--cpus: \"", FLAGS_cpus, "\" is not a list such as 0-3,8"));
  }
  return options;
}

// Commands without a flag: the baseline, if --a is not given, and candidates.
void TakeCommands(const std::vector<std::string>& args) {
  for (const std::string& arg : args) {
    if (FLAGS_a.empty()) {
      FLAGS_a = arg;
    } else {
      FLAGS_b = FLAGS_b.empty()
                    ? arg
                    : absl::StrCat(FLAGS_b, std::string(1, kNextValue), arg);
    }
  }
}

}  // namespace

std::vector<std::string> JoinRepeated(int argc, char** argv) {
  std::vector<std::string> args(argv, argv + argc);
  const auto end = std::find(args.begin(), args.end(), "--");
  std::replace(args.begin(), end, std::string("--rows"),
               std::string("--time=rows"));
  for (const std::string flag : {"--b", "--parameter"}) {
    size_t first = 0;
    for (size_t i = 1; i < args.size() && args[i] != "--"; ++i) {
      if (args[i] == flag && i + 1 < args.size()) {
        args[i] = absl::StrCat(flag, "=", args[i + 1]);
        args.erase(args.begin() + i + 1);
      }
      if (!absl::StartsWith(args[i], flag + "=")) continue;
      if (first == 0) {
        first = i;
        continue;
      }
      args[first] += kNextValue + args[i].substr(flag.size() + 1);
      args.erase(args.begin() + i--);
    }
  }
  return args;
}

absl::StatusOr<DuelRun> RunOfFlags(const std::vector<std::string>& args) {
  TakeCommands(args);
  RETURN_IF_ERROR(CheckFlags());
  DuelRun run;
  ASSIGN_OR_RETURN(run.duel, OptionsFromFlags());
  run.is_bisect = FLAGS_bisect;
  run.bisect.repository = FLAGS_repository;
  run.bisect.good = FLAGS_good;
  run.bisect.bad = FLAGS_bad;
  run.bisect.build = FLAGS_build;
  run.bisect.command = FLAGS_command;
  run.bisect.worktrees = FLAGS_worktrees;
  run.bisect.confidence = FLAGS_confidence / 100;
  run.output = FLAGS_output;
  run.export_file = FLAGS_export;
  run.export_format = ExportFormat();
  run.profile_pairs = FLAGS_profile;
  run.profiler = FLAGS_profiler == "perf"     ? Profiler::kPerf
                 : FLAGS_profiler == "python" ? Profiler::kPython
                                              : Profiler::kAuto;
  run.expected_jobs = ExpectedJobs(run.duel);
  run.quiet = FLAGS_quiet;
  run.distrusts = FLAGS_distrust;
  return run;
}

}  // namespace feedrate
