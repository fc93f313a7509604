#include "lib/gate/run_compare.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/exit_code.h"
#include "lib/config/load.h"
#include "lib/gate/baselines.h"
#include "lib/gate/gate_input.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/shift.h"
#include "lib/gate/stored_runs.h"
#include "lib/gate/verdict/ci_formats.h"
#include "lib/gate/verdict/compare_stored.h"
#include "lib/gate/verdict/rule_verdicts.h"
#include "lib/gate/verdict/verdict_formats.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/gate/where.h"
#include "lib/records/attempts.h"
#include "lib/records/json.h"

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

// Sets the commands that explain the verdicts. `flag` names the baseline.
void SetExplain(const CompareOptions& options, const std::string& flag,
                std::vector<Verdict>* jobs) {
  const std::string start = absl::StrCat(
      ProgramCommand("compare_baseline"),
      " --current=", ShellWord(options.current), " ", flag, " --explain=");
  for (Verdict& verdict : *jobs) {
    verdict.set_command(absl::StrCat(start, ShellWord(verdict.job())));
  }
}

// Compares with the rows of --baseline.
absl::StatusOr<std::vector<Verdict>> JudgeFiles(const CompareOptions& options,
                                                GateInput* input,
                                                const RuleOptions& rules) {
  if (input->metrics || !options.eval.empty()) {
    return absl::InvalidArgumentError(
        "--baseline: compares rows; keep metrics and eval files in a folder, "
        "--baselines=FOLDER");
  }
  ASSIGN_OR_RETURN(GateInput baseline, ReadInput(options.baseline, options));
  if (baseline.rows.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--baseline: ", options.baseline, " has no rows"));
  }
  std::vector<Verdict> jobs =
      CompareRowFiles(std::move(input->rows), std::move(baseline.rows), rules);
  SetExplain(options, absl::StrCat("--baseline=", ShellWord(options.baseline)),
             &jobs);
  return jobs;
}

// There may be many.
void Append(std::vector<Verdict> more, std::vector<Verdict>* jobs) {
  if (jobs->empty()) {
    *jobs = std::move(more);
  } else {
    absl::c_move(more, std::back_inserter(*jobs));
  }
}

// Takes the rows of `input`; there may be many.
absl::StatusOr<std::vector<Verdict>> JudgeByRules(const CompareOptions& options,
                                                  GateInput* input) {
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
  if (input->metrics) files.push_back(&*input->metrics);
  ASSIGN_OR_RETURN(RuleOptions rules, LoadRules(options, files));
  // The versions of imported rows are revisions of what is under test.
  rules.any_version |= input->is_imported;
  if (!options.baseline.empty()) return JudgeFiles(options, input, rules);
  const BaselineStore store(options.baselines);
  RETURN_IF_ERROR(store.Profiles().status());
  std::vector<Verdict> jobs;
  if (input->metrics) {
    ASSIGN_OR_RETURN(Verdict verdict,
                     CompareMetrics(*input->metrics, "metrics", store, rules));
    jobs.push_back(std::move(verdict));
  }
  if (eval) {
    ASSIGN_OR_RETURN(Verdict verdict,
                     CompareMetrics(*eval, "eval", store, rules));
    jobs.push_back(std::move(verdict));
  }
  ASSIGN_OR_RETURN(std::vector<Verdict> rows,
                   CompareRows(std::move(input->rows), store, rules));
  Append(std::move(rows), &jobs);
  SetExplain(options,
             absl::StrCat("--baselines=", ShellWord(options.baselines)), &jobs);
  return jobs;
}

// The runner's command for these rows again, appended to the file of the
// others: of several attempts at a run, the cleanest counts. Empty if the file
// does not say how it was made, or says something that is not repeated.
std::string MeasureAgain(const std::vector<const Row*>& rows,
                         const GateInput& input, const std::string& current) {
  if (rows.empty()) return "";
  const auto run = input.commands.find(rows[0]->run_id());
  if (run == input.commands.end() || run->second.empty()) return "";
  const std::vector<std::string> words = CommandAgain(run->second, rows);
  if (words.empty()) return "";
  return absl::StrCat(absl::StrJoin(words, " "), " --output=- >> ",
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

// What a command needs to know of each job, by id: the last row counts.
struct RowNames {
  std::string run_id;
  std::string library;
  std::string transform;
};
using NamesByJob = absl::flat_hash_map<std::string, RowNames>;

NamesByJob NamesOf(const std::vector<Row>& rows) {
  NamesByJob names;
  for (const Row& row : rows) {
    names[row.job_id()] = {row.run_id(), row.library(), row.transform()};
  }
  return names;
}

// Sets the commands that measure undecided jobs again, and says so.
void SayMeasureAgain(const CompareOptions& options, const GateInput& input,
                     const NamesByJob& names, std::vector<Verdict>* jobs,
                     Verdict* suite) {
  std::deque<Row> rows;
  std::vector<const Row*> undecided;
  std::set<std::string> codes;
  for (Verdict& verdict : *jobs) {
    if (!IsUndecidedByNoise(verdict)) continue;
    const auto found = names.find(verdict.job_id());
    if (found == names.end()) continue;
    Row& row = rows.emplace_back();
    row.set_run_id(found->second.run_id);
    row.set_library(found->second.library);
    row.set_transform(found->second.transform);
    undecided.push_back(&row);
    codes.insert(verdict.codes().begin(), verdict.codes().end());
    const std::string command = MeasureAgain({&row}, input, options.current);
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

// Warns of jobs that only the baseline has.
void SayNotRun(const CompareOptions& options,
               const std::vector<Verdict>& jobs) {
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

namespace {

// Whether a stored verdict on the suite is about the same jobs as `now`, so
// that all formats agree whatever their flags are. No flag changes what is
// slower, or what did not run.
bool IsSuiteOf(const absl::optional<Verdict>& stored, const Verdict& now) {
  const auto depends_on_flags = [](const Verdict& suite) {
    return suite.exit_code() != static_cast<int>(ExitCode::kRunFailed) &&
           suite.exit_code() != static_cast<int>(ExitCode::kCheckSaidNo);
  };
  return stored && depends_on_flags(*stored) && depends_on_flags(now) &&
         stored->counts().SerializeAsString() ==
             now.counts().SerializeAsString();
}

// What prints verdicts instead of rows must not decide a comparison that flags
// ask for.
absl::Status CheckOnlyRenders(const CompareOptions& options) {
  const char* const flag = options.paired               ? "--paired"
                           : !options.baselines.empty() ? "--baselines"
                           : !options.baseline.empty()  ? "--baseline"
                           : !options.eval.empty()      ? "--eval"
                                                        : nullptr;
  if (flag == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      options.current, ": holds verdicts, which are only printed again, and ",
      flag, " compares; leave it out, or pass the rows"));
}

}  // namespace

absl::StatusOr<ExitCode> RunCompare(const CompareOptions& options) {
  // Does not read standard input when only --eval is given.
  const bool only_eval = options.current == "-" && !options.eval.empty();
  GateInput input;
  if (!only_eval) {
    ASSIGN_OR_RETURN(input, ReadInput(options.current, options));
  }
  const size_t row_count = input.rows.size();
  const NamesByJob names = NamesOf(input.rows);
  std::vector<Verdict> jobs;
  PairedOptions paired;
  const bool has_rules = input.metrics || !options.eval.empty() ||
                         (!input.rows.empty() && !options.paired);
  if (!input.verdicts.empty()) {
    RETURN_IF_ERROR(CheckOnlyRenders(options));
    jobs = input.verdicts;
  } else {
    // A duel of identical programs has no rows.
    if (input.paired_rows > 0 || input.paired.duel()) {
      SayAbsentMetrics(options, input.paired);
      ASSIGN_OR_RETURN(paired, LoadPairedOptions(options, input.paired));
      paired.are_own_records = input.is_own;
      jobs = JudgePairs(input.paired, paired);
    }
    if (has_rules) {
      ASSIGN_OR_RETURN(std::vector<Verdict> others,
                       JudgeByRules(options, &input));
      Append(std::move(others), &jobs);
    }
  }
  if (has_rules && !options.pairs_flag.empty() && input.paired_rows == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.pairs_flag,
        ": is for the paired rows of a duel, and there are none; leave it out, "
        "or use --tolerances"));
  }
  SuiteOptions limits;
  limits.max_cannot_tell_percent = options.max_cannot_tell_percent;
  limits.min_compared_percent =
      options.require_all ? 100 : options.min_compared_percent;
  Verdict suite = SuiteVerdict(jobs, limits);
  if (!input.verdicts.empty() && IsSuiteOf(input.suite, suite)) {
    suite = *input.suite;
  }
  if (options.paired && jobs.empty() && row_count > 0) {
    suite.set_reason(absl::StrCat(
        "--paired: none of the ", row_count,
        " rows is of a duel; run `duel --a=OLD --b=NEW | compare_baseline "
        "--paired`, or leave out --paired and pass --baselines=FOLDER"));
  } else if (options.paired && row_count > 0) {
    options.warn(absl::StrCat("--paired: ", Counted(row_count, "row"),
                              row_count == 1 ? " is" : " are",
                              " of no duel and not compared"));
  }
  SayMeasureAgain(options, input, names, &jobs, &suite);
  SayNotRun(options, jobs);
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

namespace {

// What is warned of when rows become a baseline.
struct StoredJobs {
  size_t judged = 0;
  size_t disturbed = 0;
  // With fewer executions than can prove a small change.
  size_t few_executions = 0;
};

// The rows of one machine's baseline as records.
absl::StatusOr<std::string> BaselineText(const CompareOptions& options,
                                         const RunsByJob& by_job,
                                         StoredJobs* stored) {
  std::string text;
  for (const auto& job : by_job) {
    // What the harness itself costs is kept and never judged.
    if (job.second.runs[0].library() != "null") {
      ++stored->judged;
      const std::vector<std::string> ids = ExecutionsOf(job.second.runs);
      const std::set<std::string> executions(ids.begin(), ids.end());
      stored->few_executions += executions.count("") == 0 &&
                                executions.size() + 1 < kEnoughExecutions;
      std::vector<std::string> causes;
      stored->disturbed += !DisturbedText(job.second, "", &causes).empty();
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
      AppendRecord(row, &text);
    }
  }
  return text;
}

// One baseline per machine: runs of different machines are never attempts at
// the same run.
absl::Status AddRowBaselines(const CompareOptions& options,
                             const GateInput& input,
                             std::vector<NewBaseline>* baselines) {
  std::map<std::string, std::vector<Row>> by_profile;
  for (const Row& row : input.rows) {
    by_profile[row.machine_profile()].push_back(row);
  }
  StoredJobs stored;
  for (auto& [profile, rows] : by_profile) {
    ASSIGN_OR_RETURN(
        std::string text,
        BaselineText(options, RunsOfAllExecutions(std::move(rows)), &stored));
    baselines->push_back({profile, "rows.jsonl", std::move(text)});
  }
  if (stored.few_executions > 0) {
    options.warn(absl::StrCat(
        options.current, ": ", stored.few_executions, " of ", stored.judged,
        " jobs are of fewer than ", kEnoughExecutions - 1,
        " executions, so changes must be large to be seen; measure ",
        kEnoughExecutions - 1, " times and append the rows"));
  }
  if (stored.disturbed > 0) {
    options.warn(absl::StrCat(
        options.current, ": ", stored.disturbed, " of ", stored.judged,
        " jobs were disturbed (noisy, contended or throttled) and will be "
        "`cannot_tell`; measure them again on a quiet machine"));
  }
  return absl::OkStatus();
}

}  // namespace

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
    RETURN_IF_ERROR(AddRowBaselines(options, input, &baselines));
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

}  // namespace feedrate
