#include "lib/gate/run_compare.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/config/load.h"
#include "lib/draw/progress.h"
#include "lib/environment/env_record.h"
#include "lib/gate/baselines.h"
#include "lib/gate/duel/calibrate.h"
#include "lib/gate/gate_input.h"
#include "lib/gate/history.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/stored_runs.h"
#include "lib/gate/verdict/across_machines.h"
#include "lib/gate/verdict/ci_formats.h"
#include "lib/gate/verdict/compare_stored.h"
#include "lib/gate/verdict/rule_verdicts.h"
#include "lib/gate/verdict/verdict_formats.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/gate/where.h"
#include "lib/machine/cpu.h"
#include "lib/machine/machine.h"
#include "lib/machine/root.h"
#include "lib/records/attempts.h"
#include "lib/records/json.h"
#include "lib/records/record_io.h"

namespace feedrate {
namespace {

absl::StatusOr<GateInput> ReadInput(const std::string& path,
                                    const CompareOptions& options) {
  return ReadGateInput(path, options.import, options.statistic, options.warn,
                       options.metrics);
}

// The largest changes are enough for --explain; the record has all.
constexpr int kExplainedParts = 12;
constexpr char kTolerancesFile[] = "gate/tolerances.textproto";

absl::Status WriteOutput(const std::string& path, const std::string& text) {
  if (path != "-") return WriteFileAtomically(path, text);
  RecordWriter out(STDOUT_FILENO, "standard output",
                   RecordWriter::Flush::kWhenFull);
  RETURN_IF_ERROR(out.WriteText(text));
  return out.Finish();
}

std::string Render(const std::vector<Verdict>& jobs, const Verdict& suite,
                   const CompareOptions& options) {
  if (options.format == "text") {
    return VerdictText(jobs, suite, options.limit);
  }
  if (options.format == "markdown") return VerdictMarkdown(jobs, suite);
  if (options.format == "junit") {
    return VerdictJunit(jobs, suite,
                        absl::FormatTime("%Y-%m-%dT%H:%M:%S", absl::Now(),
                                         absl::UTCTimeZone()));
  }
  if (options.format == "sarif") return VerdictSarif(jobs, suite);
  if (options.format == "github") return VerdictGithub(jobs, suite);
  std::string text;
  for (const Verdict& job : jobs) AppendRecord(job, &text);
  AppendRecord(suite, &text);
  return text;
}

// `files` may have metrics that feedrate does not write itself.
absl::StatusOr<RuleOptions> LoadRules(
    const CompareOptions& options,
    const std::vector<const MetricsFile*>& files) {
  RuleOptions rules;
  rules.with_tails = options.with_tails;
  rules.any_version = options.any_version;
  std::vector<std::string> names;
  for (const MetricsFile* file : files) {
    for (const auto& metric : file->metrics) names.push_back(metric.first);
    for (const auto& other : file->others) names.push_back(other.first);
  }
  std::string path = options.tolerances;
  if (path.empty()) {
    ASSIGN_OR_RETURN(const std::string folder,
                     FindConfigsFolder(options.configs_folder, ""));
    path = JoinPath(folder, kTolerancesFile);
  }
  ASSIGN_OR_RETURN(rules.tolerances, LoadTolerances(path, names));
  return rules;
}

// Calibrated floors of all machines in the duel's rows.
absl::StatusOr<PairedOptions> LoadPairedOptions(const CompareOptions& options,
                                                const PairedRows& rows) {
  PairedOptions paired;
  paired.interest_percent = options.interest_percent;
  if (options.baselines.empty()) return paired;
  const BaselineStore store(options.baselines);
  std::set<std::string> profiles;
  for (const PairedJob& job : rows.jobs()) profiles.insert(job.machine_profile);
  for (const std::string& profile : profiles) {
    ASSIGN_OR_RETURN(const std::vector<Calibration> calibrations,
                     store.ReadCalibrations(profile));
    for (const auto& floor : FloorsOf(calibrations)) {
      paired.floor_percent.insert(floor);
    }
  }
  return paired;
}

absl::StatusOr<MetricsFile> ReadEvalFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseMetrics(text, path);
}

// Judges rows of machines without a baseline by those of other machines. Leaves
// the other rows in `own`. `note` gets what cannot be told.
absl::StatusOr<std::vector<Verdict>> JudgeAcross(const GateInput& input,
                                                 const BaselineStore& store,
                                                 const RuleOptions& rules,
                                                 std::vector<Row>* own,
                                                 std::string* note) {
  std::map<std::string, std::vector<Row>> by_profile;
  for (const Row& row : input.rows) {
    if (row.library() != "null")
      by_profile[row.machine_profile()].push_back(row);
  }
  std::vector<Verdict> verdicts;
  for (const auto& part : by_profile) {
    if (IsFile(store.PathOf(part.first, "rows.jsonl"))) {
      own->insert(own->end(), part.second.begin(), part.second.end());
      continue;
    }
    ASSIGN_OR_RETURN(
        const AcrossMachines across,
        CompareAcrossMachines(part.second, input.references, store, rules));
    verdicts.insert(verdicts.end(), across.verdicts.begin(),
                    across.verdicts.end());
    absl::StrAppend(note, note->empty() || across.note.empty() ? "" : "; ",
                    across.note);
  }
  return verdicts;
}

// Compares with the rows of --baseline.
absl::StatusOr<std::vector<Verdict>> JudgeFiles(const CompareOptions& options,
                                                const GateInput& input,
                                                const RuleOptions& rules) {
  if (input.metrics || !options.eval.empty()) {
    return absl::InvalidArgumentError(
        "--baseline: compares rows; keep metrics and eval files in a folder, "
        "--baselines=FOLDER");
  }
  ASSIGN_OR_RETURN(const GateInput baseline,
                   ReadInput(options.baseline, options));
  if (baseline.rows.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--baseline: ", options.baseline, " has no rows"));
  }
  std::vector<Verdict> jobs = CompareRowFiles(input.rows, baseline.rows, rules);
  for (Verdict& verdict : jobs) {
    verdict.set_command(absl::StrCat(
        ProgramCommand("compare_baseline"), " --current=",
        ShellWord(options.current), " --baseline=", ShellWord(options.baseline),
        " --explain=", ShellWord(verdict.job())));
  }
  return jobs;
}

absl::StatusOr<std::vector<Verdict>> JudgeByRules(const CompareOptions& options,
                                                  const GateInput& input,
                                                  std::string* note) {
  if (options.baselines.empty() && options.baseline.empty()) {
    return absl::InvalidArgumentError(
        "--baselines: rows that are not paired need a folder of baselines, or "
        "--baseline=FILE; for pairs, run them with duel");
  }
  absl::optional<MetricsFile> eval;
  std::vector<const MetricsFile*> files;
  if (!options.eval.empty()) {
    ASSIGN_OR_RETURN(eval, ReadEvalFile(options.eval));
    files.push_back(&*eval);
  }
  if (input.metrics) files.push_back(&*input.metrics);
  ASSIGN_OR_RETURN(RuleOptions rules, LoadRules(options, files));
  // The versions of imported rows are revisions of what is under test.
  rules.any_version |= input.is_imported;
  if (!options.baseline.empty()) return JudgeFiles(options, input, rules);
  const BaselineStore store(options.baselines);
  RETURN_IF_ERROR(store.Profiles().status());
  std::vector<Verdict> jobs;
  if (input.metrics) {
    ASSIGN_OR_RETURN(Verdict verdict,
                     CompareMetrics(*input.metrics, "metrics", store, rules));
    jobs.push_back(std::move(verdict));
  }
  if (eval) {
    ASSIGN_OR_RETURN(Verdict verdict,
                     CompareMetrics(*eval, "eval", store, rules));
    jobs.push_back(std::move(verdict));
  }
  std::vector<Row> own = input.rows;
  if (options.across_machines) {
    own.clear();
    ASSIGN_OR_RETURN(const std::vector<Verdict> across,
                     JudgeAcross(input, store, rules, &own, note));
    jobs.insert(jobs.end(), across.begin(), across.end());
  }
  ASSIGN_OR_RETURN(std::vector<Verdict> rows, CompareRows(own, store, rules));
  for (Verdict& verdict : rows) jobs.push_back(std::move(verdict));
  for (Verdict& verdict : jobs) {
    verdict.set_command(
        absl::StrCat(ProgramCommand("compare_baseline"),
                     " --current=", ShellWord(options.current),
                     " --baselines=", ShellWord(options.baselines),
                     options.across_machines ? " --across_machines" : "",
                     " --explain=", ShellWord(verdict.job())));
  }
  return jobs;
}

// The runner's command for these rows again, appended to the file of the
// others: of several attempts at a run, the cleanest counts. Empty if the file
// does not say how it was made.
std::string MeasureAgain(const std::vector<const Row*>& rows,
                         const GateInput& input, const std::string& current) {
  if (rows.empty()) return "";
  const auto run = input.commands.find(rows[0]->run_id());
  if (run == input.commands.end() || run->second.empty()) return "";
  const std::string command =
      absl::StrJoin(CommandAgain(run->second, rows), " ");
  return absl::StrCat(command, " --output=- >> ",
                      current == "-" ? "rows.jsonl" : ShellWord(current));
}

// Whether measuring again on a quiet machine would help.
bool IsUndecidedByNoise(const Verdict& verdict) {
  if (verdict.mode() != "rules" || verdict.verdict() != "cannot_tell") {
    return false;
  }
  // The same command would be as short again; the reason says what to do.
  if (absl::c_linear_search(verdict.codes(), kShort)) return false;
  for (const RuleCheck& check : verdict.checks()) {
    if (check.result() == "disturbed" || check.result() == "within_spread") {
      return true;
    }
  }
  return false;
}

// Sets the commands that measure undecided jobs again, and says so.
void SayMeasureAgain(const CompareOptions& options, const GateInput& input,
                     std::vector<Verdict>* jobs, Verdict* suite) {
  std::map<std::string, const Row*> rows;
  for (const Row& row : input.rows) rows[row.job_id()] = &row;
  std::vector<const Row*> undecided;
  std::set<std::string> codes;
  for (Verdict& verdict : *jobs) {
    const auto row = rows.find(verdict.job_id());
    if (row == rows.end() || !IsUndecidedByNoise(verdict)) continue;
    undecided.push_back(row->second);
    codes.insert(verdict.codes().begin(), verdict.codes().end());
    const std::string command =
        MeasureAgain({row->second}, input, options.current);
    if (!command.empty()) verdict.set_command(command);
  }
  if (undecided.empty()) return;
  suite->set_command(MeasureAgain(undecided, input, options.current));
  if (options.format == "text" && !suite->command().empty()) return;
  options.warn(absl::StrCat(
      undecided.size(), " of ", jobs->size(),
      " jobs cannot be told because of noise (", absl::StrJoin(codes, ", "),
      "); measure them again on a quiet machine",
      suite->command().empty() ? "" : ": ", suite->command()));
}

// Jobs that only the baseline has: a warning, or exit 4 with --require-all.
void SayNotRun(const CompareOptions& options, const std::vector<Verdict>& jobs,
               Verdict* suite) {
  std::vector<std::string> names;
  for (const Verdict& verdict : jobs) {
    if (verdict.codes_size() == 1 && verdict.codes(0) == kCodeNotRun) {
      names.push_back(verdict.job());
    }
  }
  if (names.empty()) return;
  const size_t count = names.size();
  const bool is_long = count > 5;
  if (is_long) names.resize(5);
  const std::string reason =
      absl::StrCat(count,
                   count == 1 ? " job of the baseline was not run: "
                              : " jobs of the baseline were not run: ",
                   absl::StrJoin(names, ", "), is_long ? ", …" : "");
  if (options.require_all && suite->exit_code() == 0) {
    suite->set_exit_code(static_cast<int>(ExitCode::kCannotTell));
    suite->set_verdict("cannot_tell");
    suite->clear_codes();
    suite->add_codes(kCodeNotRun);
    suite->set_reason(reason);
  }
  options.warn(absl::StrCat(
      reason, options.require_all ? "" : "; --require-all makes that exit 4"));
}

// Metrics that were asked for and that no pair has. The default ones may be
// absent.
void SayAbsentMetrics(const CompareOptions& options, const PairedRows& rows) {
  const MetricChoice usual = DefaultMetricChoice();
  for (size_t i = 0; i < options.metrics.metrics.size(); ++i) {
    const GateMetric& metric = options.metrics.metrics[i];
    const bool is_there = std::any_of(
        rows.jobs().begin(), rows.jobs().end(),
        [i](const PairedJob& job) { return !job.MetricPairs(i).empty(); });
    const bool is_usual = std::any_of(
        usual.metrics.begin(), usual.metrics.end(),
        [&metric](const GateMetric& one) { return one.name == metric.name; });
    if (is_there || (is_usual && options.metrics.has_time)) continue;
    options.warn(absl::StrCat("--metrics: ", metric.name,
                              " is not judged, because no pair has it (",
                              metric.source, ")"));
  }
}

absl::StatusOr<std::string> Explain(const CompareOptions& options,
                                    const GateInput& input,
                                    const PairedOptions& paired,
                                    const std::vector<Verdict>& jobs) {
  std::string text;
  std::vector<std::string> known;
  for (const Verdict& verdict : jobs) {
    known.push_back(verdict.job());
    if (!IsWantedJob(options.explain, verdict.job_id(), verdict.job())) {
      continue;
    }
    if (!text.empty()) absl::StrAppend(&text, "\n");
    if (verdict.mode() != "paired") {
      absl::StrAppend(&text, ExplainRules(verdict));
      continue;
    }
    for (const PairedJob& job : input.paired.jobs()) {
      if (job.job_id != verdict.job_id() || job.label != verdict.job()) {
        continue;
      }
      absl::StrAppend(&text, ExplainPairs(job, input.paired, paired, verdict));
      const std::vector<ProfilePart> parts = RowParts(job);
      if (parts.empty()) continue;
      absl::StrAppend(&text, "\nWhere (stages or parts, per item or step):\n",
                      PartsText(parts, kExplainedParts));
    }
  }
  if (!text.empty()) {
    for (const Profile& profile : input.profiles) {
      absl::StrAppend(&text, "\n", ProfileText(profile, kExplainedParts));
    }
    return text;
  }
  return absl::NotFoundError(absl::StrCat("--explain: no job is \"",
                                          options.explain, "\"; there are ",
                                          absl::StrJoin(known, ", ")));
}

}  // namespace

const std::vector<std::string>& VerdictFormats() {
  static const auto* formats = new std::vector<std::string>{
      "jsonl", "text", "markdown", "junit", "sarif", "github"};
  return *formats;
}

absl::StatusOr<ExitCode> RunCompare(const CompareOptions& options) {
  // Does not read standard input when only --eval is given.
  const bool only_eval = options.current == "-" && !options.eval.empty();
  GateInput input;
  if (!only_eval) {
    ASSIGN_OR_RETURN(input, ReadInput(options.current, options));
  }
  std::vector<Verdict> jobs;
  std::string note;
  PairedOptions paired;
  const bool has_rules = input.metrics || !options.eval.empty() ||
                         (!input.rows.empty() && !options.paired);
  if (!input.verdicts.empty()) {
    jobs = input.verdicts;
  } else {
    // A duel of identical programs has no rows.
    if (input.paired_rows > 0 || input.paired.duel()) {
      SayAbsentMetrics(options, input.paired);
      ASSIGN_OR_RETURN(paired, LoadPairedOptions(options, input.paired));
      jobs = JudgePairs(input.paired, paired);
    }
    if (has_rules) {
      ASSIGN_OR_RETURN(const std::vector<Verdict> others,
                       JudgeByRules(options, input, &note));
      jobs.insert(jobs.end(), others.begin(), others.end());
    }
  }
  SuiteOptions limits;
  limits.max_cannot_tell_percent = options.max_cannot_tell_percent;
  Verdict suite = SuiteVerdict(jobs, limits);
  if (!note.empty()) absl::StrAppend(suite.mutable_reason(), "; ", note);
  if (options.paired && jobs.empty() && !input.rows.empty()) {
    suite.set_reason(absl::StrCat(
        "--paired: none of the ", input.rows.size(),
        " rows is of a duel; run `duel --a=OLD --b=NEW | compare_baseline "
        "--paired`, or leave out --paired and pass --baselines=FOLDER"));
  }
  SayMeasureAgain(options, input, &jobs, &suite);
  SayNotRun(options, jobs, &suite);
  std::string text;
  if (!options.explain.empty()) {
    ASSIGN_OR_RETURN(text, Explain(options, input, paired, jobs));
  } else {
    text = Render(jobs, suite, options);
  }
  RETURN_IF_ERROR(WriteOutput(options.output, text));
  const ExitCode code = ExitCodeOfSuite(suite);
  if (code == ExitCode::kInvalid) options.warn(suite.reason());
  return code;
}

absl::StatusOr<ExitCode> RunUpdate(const CompareOptions& options) {
  const Checkout checkout = ReadCheckout(options.baselines);
  RETURN_IF_ERROR(MayUpdate(checkout, options.maintainer_reason));
  const bool only_eval = options.current == "-" && !options.eval.empty();
  std::vector<NewBaseline> baselines;
  if (!only_eval) {
    ASSIGN_OR_RETURN(const GateInput input,
                     ReadInput(options.current, options));
    if (input.paired_rows > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(options.current,
                       ": rows of a duel are no baseline; they are "
                       "compared with each other"));
    }
    if (input.metrics) {
      ASSIGN_OR_RETURN(const RuleOptions rules,
                       LoadRules(options, {&*input.metrics}));
      RETURN_IF_ERROR(CheckMetrics(*input.metrics, "metrics", rules));
      baselines.push_back(
          {input.metrics->machine_profile, "metrics.json", input.metrics_text});
    }
    std::map<std::string, std::string> texts;
    const RunsByJob by_job = RunsOfBaseline(input.rows);
    size_t disturbed = 0;
    size_t one_execution = 0;
    size_t judged = 0;
    for (const auto& job : by_job) {
      // What the harness itself costs is kept and never judged.
      if (job.second.runs[0].library() != "null") {
        ++judged;
        one_execution += job.second.OfOneExecution();
        std::vector<std::string> causes;
        disturbed += !DisturbedText(job.second, "", &causes).empty();
      }
      for (const Row& row : job.second.runs) {
        if (row.status() != "ok" && row.status() != "unsupported" &&
            row.status() != "early_stopped") {
          return absl::InvalidArgumentError(absl::StrCat(
              options.current, ": ", JobLabel(row), " ", row.status(),
              "; a baseline has no such runs, so run it again"));
        }
        if (row.machine_profile().empty()) {
          return absl::InvalidArgumentError(
              absl::StrCat(options.current, ": ", JobLabel(row),
                           " does not say which machine it is of"));
        }
        AppendRecord(row, &texts[row.machine_profile()]);
      }
    }
    for (const ReferenceSpeeds& reference : input.references) {
      const auto text = texts.find(reference.machine_profile());
      if (text != texts.end()) AppendRecord(reference, &text->second);
    }
    for (auto& text : texts) {
      baselines.push_back({text.first, "rows.jsonl", std::move(text.second)});
    }
    if (one_execution > 0) {
      options.warn(absl::StrCat(
          options.current, ": ", one_execution, " of ", judged,
          " jobs are of one execution, so changes must be large to be seen; "
          "measure three times and append the rows"));
    }
    if (disturbed > 0) {
      options.warn(absl::StrCat(
          options.current, ": ", disturbed, " of ", judged,
          " jobs were disturbed (noisy, contended or throttled) and will be "
          "`cannot_tell`; measure them again on a quiet machine"));
    }
  }
  if (!options.eval.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(options.eval));
    ASSIGN_OR_RETURN(const MetricsFile eval, ParseMetrics(text, options.eval));
    ASSIGN_OR_RETURN(const RuleOptions rules, LoadRules(options, {&eval}));
    RETURN_IF_ERROR(CheckMetrics(eval, "eval", rules));
    baselines.push_back({eval.machine_profile, "eval.json", text});
  }
  if (baselines.empty()) {
    options.warn(
        absl::StrCat(options.current, ": has no rows, so nothing is updated"));
    return ExitCode::kInvalid;
  }
  ASSIGN_OR_RETURN(const std::vector<BaselineUpdate> updates,
                   UpdateBaselines(options.baselines, baselines, checkout,
                                   options.maintainer_reason, absl::Now()));
  std::string text;
  for (const BaselineUpdate& update : updates) {
    if (options.format != "text") {
      AppendRecord(update, &text);
      continue;
    }
    absl::StrAppend(
        &text, update.file(), " is the baseline of machine ",
        PrintableText(update.machine_profile()),
        update.replaced().empty()
            ? ""
            : absl::StrCat("; the one before it is ", update.replaced()),
        "\n");
  }
  RETURN_IF_ERROR(WriteOutput(options.output, text));
  return ExitCode::kDone;
}

absl::StatusOr<ExitCode> RunCalibrate(const CompareOptions& options) {
  const Interrupt interrupt;
  const Env env = EnvRecord(ReadMachine(ThisMachine()), absl::Now());
  CalibrationOptions calibration;
  calibration.duels = options.calibrate_duels;
  calibration.slowdowns_percent = options.calibrate_slowdowns;
  calibration.calibrated_at =
      absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone());
  DuelOptions& duel = calibration.duel;
  duel.a = options.calibrate_command;
  duel.name = options.calibrate_name;
  duel.looks = DefaultLooks(options.calibrate_max_pairs);
  duel.interest_percent = options.interest_percent;
  duel.seed = static_cast<uint64_t>(options.calibrate_seed);
  duel.timing = options.calibrate_timing == "rows"   ? DuelTiming::kRows
                : options.calibrate_timing == "wall" ? DuelTiming::kWall
                                                     : DuelTiming::kAuto;
  duel.statistic = options.statistic;
  duel.metrics = options.metrics;
  duel.cpus = ReadAffinity(Root("/"));
  duel.machine_profile = env.machine_profile();
  duel.env_id = env.env_id();
  duel.is_stopped = [&interrupt] { return interrupt.happened(); };
  duel.warn = options.warn;
  Progress progress(std::cerr, isatty(STDERR_FILENO) != 0);
  duel.progress = [&progress](const std::string& what) {
    progress.Show("compare_baseline", 0, 0, what);
  };
  ASSIGN_OR_RETURN(const CalibrationResult result, Calibrate(calibration));
  progress.Finish();
  if (result.exit_code != ExitCode::kDone) {
    if (!result.failure.empty()) options.warn(result.failure);
    return result.exit_code;
  }
  RETURN_IF_ERROR(MakeFolder(options.baselines));
  RETURN_IF_ERROR(
      BaselineStore(options.baselines).AddCalibrations(result.calibrations));
  std::string text;
  if (options.format == "jsonl") {
    for (const Calibration& one : result.calibrations) {
      AppendRecord(one, &text);
    }
  } else {
    text = CalibrationText(result.calibrations);
  }
  RETURN_IF_ERROR(WriteOutput(options.output, text));
  return ExitCode::kDone;
}

absl::StatusOr<ExitCode> RunHistory(const CompareOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<HistoryEntry> entries,
                   ReadHistory(options.history, options.import, options.warn));
  HistoryOptions history;
  history.statistic = options.statistic;
  const std::vector<ChangePoint> points = FindChangePoints(entries, history);
  std::string text;
  if (options.format == "jsonl") {
    for (const ChangePoint& point : points) AppendRecord(point, &text);
  } else {
    text = HistoryText(points, entries, history);
  }
  RETURN_IF_ERROR(WriteOutput(options.output, text));
  if (entries.empty()) {
    options.warn(absl::StrCat("--history: no rows or results in ",
                              absl::StrJoin(options.history, ", ")));
    return ExitCode::kInvalid;
  }
  for (const ChangePoint& point : points) {
    if (point.percent() > 0 && point.gone_at().empty()) {
      return ExitCode::kCheckSaidNo;
    }
  }
  return ExitCode::kDone;
}

}  // namespace feedrate
