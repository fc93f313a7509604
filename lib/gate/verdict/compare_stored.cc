#include "lib/gate/verdict/compare_stored.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "lib/base/status_macros.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/stored_runs.h"
#include "lib/gate/verdict/tolerances.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/imports/imports.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// A machine is busy if it disturbed more than one job in four of a suite. What
// is left then is what the runner could not see: caches that others emptied,
// memory that they used.
constexpr size_t kFewestJobs = 10;
constexpr size_t kBusyJobs = 4;
// The inverse of the clock rate as a metric.
constexpr char kClock[] = "core_speed.chain_s";
// The smallest effect of the memory that a reason mentions, as a logarithm.
constexpr double kMentionedMemory = 0.01;

Verdict Invalid(const std::string& job_id, const std::string& label,
                const std::string& profile, const std::string& code,
                const std::string& reason) {
  Verdict verdict;
  verdict.set_scope("job");
  verdict.set_job_id(job_id);
  verdict.set_job(label);
  verdict.set_mode("rules");
  verdict.set_machine_profile(profile);
  verdict.set_verdict("invalid");
  verdict.add_codes(code);
  verdict.set_reason(reason);
  return verdict;
}

// The part of `profile` that is different in `other`, such as "torch2.12, not
// torch2.11"; "" if more than one is.
std::string ProfileDifference(const std::string& profile,
                              const std::string& other) {
  const std::vector<std::string> parts = absl::StrSplit(profile, '_');
  const std::vector<std::string> others = absl::StrSplit(other, '_');
  if (parts.size() != others.size()) return "";
  std::string difference;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == others[i]) continue;
    if (!difference.empty()) return "";
    difference = absl::StrCat(others[i], ", not ", parts[i]);
  }
  return difference;
}

absl::StatusOr<std::string> NoBaselineText(const std::string& profile,
                                           const std::string& kind,
                                           const BaselineStore& store) {
  ASSIGN_OR_RETURN(std::vector<std::string> profiles, store.Profiles());
  if (profile.empty()) {
    return absl::StrCat("the ", kind, " do not say which machine they are of");
  }
  const std::string start = absl::StrCat(store.folder(), " has no ", kind,
                                         " baseline of machine ", profile);
  if (std::count(profiles.begin(), profiles.end(), profile) > 0) {
    return absl::StrCat(start,
                        ", only results of other kinds; make one with "
                        "--update-baseline");
  }
  for (std::string& other : profiles) {
    const std::string difference = ProfileDifference(profile, other);
    if (!difference.empty()) absl::StrAppend(&other, " (", difference, ")");
  }
  return absl::StrCat(start, "; ",
                      profiles.empty()
                          ? "there is none at all"
                          : absl::StrCat("there are baselines of ",
                                         absl::StrJoin(profiles, ", ")));
}

// Why the baseline lacks a job: the nearest one that it has.
std::string NoJobText(const Row& row, const RunsByJob& baseline) {
  std::string nearest;
  for (const auto& job : baseline) {
    const Row& other = job.second.runs[0];
    if (other.mode() != row.mode() || other.library() != row.library() ||
        other.transform() != row.transform()) {
      continue;
    }
    const std::string difference = IdentityDifference(row, other);
    if (difference.empty()) continue;
    if (nearest.empty() || difference.size() < nearest.size()) {
      nearest = difference;
    }
  }
  return nearest.empty()
             ? "the baseline does not have this job"
             : absl::StrCat("the baseline has this job with ", nearest);
}

bool EndedBadly(const std::string& status) {
  return status != "ok" && status != kCodeUnsupported &&
         status != kCodeEarlyStopped;
}

bool HasStatus(const std::vector<Row>& rows, const std::string& status) {
  for (const Row& row : rows) {
    if (row.status() == status) return true;
  }
  return false;
}

// A job that both sides have.
struct JobPair {
  const JobRuns* current;
  const JobRuns* baseline;
};

// The verdict on a job that cannot be compared.
absl::optional<Verdict> JudgeStatuses(const JobPair& pair,
                                      const RuleOptions& options) {
  const std::vector<Row>& current = pair.current->runs;
  const Row& row = current[0];
  const std::string label = JobLabel(row);
  const std::string& profile = row.machine_profile();
  for (const Row& run : current) {
    if (!EndedBadly(run.status())) continue;
    return Invalid(
        row.job_id(), label, profile, run.status(),
        absl::StrCat("run ", run.run_index(), " ", run.status(),
                     run.reason().empty() ? "" : ": ", run.reason()));
  }
  if (!HasStatus(current, "ok")) {
    Verdict verdict = Invalid(row.job_id(), label, profile, row.status(),
                              absl::StrCat("no run is ok: ", row.reason()));
    if (row.status() == kCodeEarlyStopped &&
        HasStatus(pair.baseline->runs, "ok")) {
      verdict.set_verdict("cannot_tell");
      verdict.set_reason("stopped early, which the baseline did not");
    }
    return verdict;
  }
  const absl::optional<Mismatch> mismatch =
      FindMismatch(current, pair.baseline->runs, options.any_version);
  if (!mismatch) return absl::nullopt;
  return Invalid(
      row.job_id(), label, profile, mismatch->code,
      absl::StrCat(mismatch->reason,
                   mismatch->code == kCodeOtherVersion
                       ? "; update the baseline, or pass --any-version to "
                         "compare the versions"
                       : "; measure the same, or update the baseline"));
}

// The shift of one run on each side, from what is known within the runs.
// Without anything the error stays unknown.
Shift ShiftWithinRuns(const Row& baseline, const Row& current,
                      const Shift& shift, RuleJob* job) {
  const absl::optional<Shift> samples = ShiftOfSamples(baseline, current);
  if (samples) return *samples;
  if (!IsImported(current)) return shift;
  const absl::optional<Shift> summaries = ShiftOfSummaries(baseline, current);
  if (summaries) {
    job->evidence =
        "the samples are not there, so their number, mean and standard "
        "deviation decide";
    return *summaries;
  }
  job->needs_spread = true;
  return shift;
}

// The logarithm of a metric's rise since the baseline. Absent if a side does
// not have it.
absl::optional<double> RiseOf(const char* metric, const RuleJob& job) {
  const auto now = job.current.find(metric);
  const auto stored = job.baseline.find(metric);
  if (now == job.current.end() || stored == job.baseline.end() ||
      !(now->second > 0 && stored->second > 0)) {
    return absl::nullopt;
  }
  return std::log(now->second / stored->second);
}

// The speed of copies in each execution of a program, by `run_id`, as a
// logarithm. The runs of all jobs take turns, so that they saw the same memory,
// and each of them knows little about it.
using CopySpeeds = std::map<std::string, double>;

CopySpeeds CopySpeedsOf(const std::vector<const JobRuns*>& jobs) {
  std::map<std::string, std::vector<double>> values;
  for (const JobRuns* job : jobs) {
    for (const Row& row : job->runs) {
      const double speed = row.core_speed().copy_bytes_per_s();
      if (speed > 0) values[row.run_id()].push_back(std::log(speed));
    }
  }
  CopySpeeds speeds;
  for (auto& entry : values) {
    speeds[entry.first] = SelectQuantile(absl::MakeSpan(entry.second), 0.5);
  }
  return speeds;
}

// Those of the `ok` rows. Empty if one is not known.
std::vector<double> CopySpeedsFor(const std::vector<Row>& rows,
                                  const CopySpeeds& speeds) {
  std::vector<double> found;
  for (const Row& row : rows) {
    if (row.status() != "ok") continue;
    const auto speed = speeds.find(row.run_id());
    if (speed == speeds.end()) return {};
    found.push_back(speed->second);
  }
  return found;
}

// What the speed of memory did to the throughput of a job's runs.
struct MemoryEffect {
  // By how much faster copies were than for the baseline, as a logarithm.
  double rise = 0;
  // How much of that the job's throughput rises, and by how much more or less
  // it may be. A job far from the speed of a copy computes while it waits.
  double share = 0;
  double doubt = 0;
  // The logarithm that memory adds to each run, in the order of the rows. Empty
  // if nobody measured the memory.
  std::vector<double> current;
  std::vector<double> baseline;
};

// The throughputs of the runs without these effects, as logarithms.
std::vector<double> Without(const std::vector<double>& effects,
                            std::vector<double> throughputs) {
  if (effects.size() != throughputs.size()) return throughputs;
  for (size_t i = 0; i < effects.size(); ++i) {
    throughputs[i] *= std::exp(-effects[i]);
  }
  return throughputs;
}

MemoryEffect MemoryEffectOn(const std::vector<Row>& current,
                            const std::vector<Row>& baseline, double of_limit,
                            const CopySpeeds& copies_now,
                            const CopySpeeds& copies_before) {
  MemoryEffect effect;
  effect.current = CopySpeedsFor(current, copies_now);
  effect.baseline = CopySpeedsFor(baseline, copies_before);
  if (effect.current.empty() || effect.baseline.empty() || of_limit <= 0) {
    return MemoryEffect();
  }
  const double limit_share = std::min(1.0, of_limit);
  effect.share = std::min(0.75, 2 * limit_share * limit_share);
  effect.doubt = limit_share / 2;
  const double usual = MeanOf(effect.baseline);
  effect.rise = MeanOf(effect.current) - usual;
  for (std::vector<double>* side : {&effect.current, &effect.baseline}) {
    for (double& speed : *side) speed = effect.share * (speed - usual);
  }
  return effect;
}

// The comparison of a job, without what the other jobs say about noise.
RuleJob MakeRuleJob(const JobPair& pair, const CopySpeeds& copies_now,
                    const CopySpeeds& copies_before,
                    const std::map<std::string, double>& floors) {
  RuleJob job;
  const Row& row = pair.current->runs[0];
  job.job_id = row.job_id();
  job.label = JobLabel(row);
  job.machine_profile = row.machine_profile();
  job.item = row.unit();
  const auto floor = floors.find(job.job_id);
  if (floor != floors.end()) job.floor_percent = floor->second;
  job.disturbed = DisturbedText(*pair.current, "the rows", &job.disturbances);
  const std::string stored =
      DisturbedText(*pair.baseline, "the baseline", &job.disturbances);
  job.is_baseline_disturbed = !stored.empty();
  absl::StrAppend(&job.disturbed,
                  job.disturbed.empty() || stored.empty() ? "" : "; ", stored);
  job.one_execution = pair.baseline->OfOneExecution();
  const bool only_clean = job.disturbed.empty();
  const std::vector<Row> current =
      only_clean ? pair.current->Clean() : pair.current->runs;
  const std::vector<Row> baseline =
      only_clean ? pair.baseline->Clean() : pair.baseline->runs;
  const RunValues now = ValuesOfRows(current);
  const RunValues before = ValuesOfRows(baseline);
  job.current = MediansOf(now);
  job.baseline = MediansOf(before);
  const auto of_limit = job.current.find("of_limit");
  const MemoryEffect memory = MemoryEffectOn(
      current, baseline, of_limit == job.current.end() ? 0 : of_limit->second,
      copies_now, copies_before);
  if (memory.doubt * std::abs(memory.rise) > kMentionedMemory) {
    job.memory = absl::StrFormat("copies were %.1f%% %s than for the baseline",
                                 std::abs(PercentOfLog(memory.rise)),
                                 memory.rise < 0 ? "slower" : "faster");
  }
  for (const auto& metric : now) {
    const auto stored = before.find(metric.first);
    if (stored == before.end() || !IsSpeed(metric.first)) continue;
    const bool is_throughput = metric.first == "throughput";
    // One run on each side says less about the memory than its samples say.
    const bool has_runs = stored->second.size() + metric.second.size() > 2;
    const bool corrects = is_throughput && has_runs;
    absl::optional<Shift> shift =
        corrects ? ShiftOfRuns(Without(memory.baseline, stored->second),
                               Without(memory.current, metric.second))
                 : ShiftOfRuns(stored->second, metric.second);
    if (!shift) continue;
    if (is_throughput && !has_runs) {
      shift = ShiftWithinRuns(baseline[0], current[0], *shift, &job);
    }
    shift->slower_machine = std::max(0.0, RiseOf(kClock, job).value_or(0));
    if (corrects) {
      shift->knows_memory = !memory.current.empty();
      shift->memory = memory.share * memory.rise;
      shift->slower_machine += memory.doubt * std::abs(memory.rise);
    } else {
      shift->slower_machine +=
          (memory.share + memory.doubt) * std::max(0.0, -memory.rise);
    }
    job.shifts[metric.first] = *shift;
  }
  return job;
}

// Verdicts on the jobs that both sides have.
std::vector<Verdict> JudgeJobs(const std::vector<JobPair>& pairs,
                               const std::map<std::string, double>& floors,
                               const RuleOptions& options) {
  std::vector<Verdict> verdicts;
  std::vector<RuleJob> jobs;
  // The runs of each of them.
  std::vector<const JobRuns*> runs;
  SuiteNoise noise;
  size_t disturbed = 0;
  std::set<std::string> causes;
  std::vector<const JobRuns*> of_current;
  std::vector<const JobRuns*> of_baseline;
  for (const JobPair& pair : pairs) {
    of_current.push_back(pair.current);
    of_baseline.push_back(pair.baseline);
  }
  const CopySpeeds copies_now = CopySpeedsOf(of_current);
  const CopySpeeds copies_before = CopySpeedsOf(of_baseline);
  for (const JobPair& pair : pairs) {
    absl::optional<Verdict> verdict = JudgeStatuses(pair, options);
    if (verdict) {
      verdicts.push_back(*std::move(verdict));
      continue;
    }
    jobs.push_back(MakeRuleJob(pair, copies_now, copies_before, floors));
    runs.push_back(pair.current);
    if (!jobs.back().disturbed.empty()) {
      ++disturbed;
      causes.insert(jobs.back().disturbances.begin(),
                    jobs.back().disturbances.end());
      continue;
    }
    for (const auto& shift : jobs.back().shifts) {
      noise.Add(shift.first, shift.second);
    }
  }
  const bool is_busy =
      jobs.size() >= kFewestJobs && kBusyJobs * disturbed > jobs.size();
  for (size_t i = 0; i < jobs.size(); ++i) {
    RuleJob& job = jobs[i];
    if (is_busy && job.disturbed.empty()) {
      job.busy = absl::StrCat(disturbed, " of ", jobs.size(),
                              " jobs of the suite were disturbed");
      job.disturbances.assign(causes.begin(), causes.end());
    }
    job.level = kSuiteLevel / jobs.size();
    for (auto& shift : job.shifts) {
      shift.second = noise.Moderate(shift.first, shift.second);
      if (job.one_execution) shift.second = shift.second.AcrossExecutions();
    }
    if (job.needs_spread) {
      job.evidence =
          job.shifts["throughput"].Limit(job.level) > 0
              ? "there is one number on each side, so the scatter of all jobs "
                "stands in for its spread"
              : "there is one number on each side and no spread is known; "
                "repeat the benchmark, or run both sides with duel";
    }
    Verdict verdict = JudgeRules(job, options);
    if (!job.memory.empty() && verdict.verdict() != "invalid") {
      absl::StrAppend(verdict.mutable_reason(), "; ", job.memory);
    }
    if (job.one_execution &&
        absl::c_linear_search(verdict.codes(), kCodeSpread)) {
      absl::StrAppend(verdict.mutable_reason(),
                      "; the baseline is of one execution, and how much "
                      "executions differ is not known: store rows of three");
    }
    verdict.set_pairs(static_cast<int64_t>(runs[i]->runs.size()));
    if (!runs[i]->not_last.empty()) {
      absl::StrAppend(verdict.mutable_reason(),
                      "; the cleanest attempts count (",
                      absl::StrJoin(runs[i]->not_last, ", "), ")");
    }
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace

absl::Status CheckMetrics(const MetricsFile& file, const std::string& kind,
                          const RuleOptions& options) {
  const auto wrong = [&file](const std::string& metric,
                             const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(
        file.name, ":", file.lines.at(metric), ": ", metric, " is ", what,
        "; it was changed by hand, so restore or update it"));
  };
  for (const auto& other : file.others) {
    if (ToleranceFor(options.tolerances, other.first, "", kind, true)) {
      return wrong(other.first, other.second + ", not a number");
    }
  }
  for (const auto& metric : file.metrics) {
    const Tolerance* const tolerance =
        ToleranceFor(options.tolerances, metric.first, "", kind, true);
    if (tolerance && tolerance->has_percent() && metric.second < 0) {
      return wrong(metric.first, "below 0");
    }
  }
  return absl::OkStatus();
}

namespace {

// A baseline without a metric that the candidate is judged by would let any
// value of it pass.
absl::Status CheckNoneMissing(const MetricsFile& baseline,
                              const MetricsFile& current,
                              const std::string& kind,
                              const RuleOptions& options) {
  for (const auto& metric : current.metrics) {
    const Tolerance* const tolerance = ToleranceFor(
        options.tolerances, metric.first, "", kind, options.with_tails);
    if (tolerance == nullptr || tolerance->severity() == WARN ||
        !(tolerance->has_percent() || tolerance->has_absolute()) ||
        baseline.metrics.count(metric.first) > 0) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(baseline.name, ": ", metric.first, " is missing, but ",
                     current.name, " has it; restore or update the baseline"));
  }
  return absl::OkStatus();
}

// What the files were measured on, where they say so and differ. Otherwise
// empty.
std::string OtherTexts(const MetricsFile& current,
                       const MetricsFile& baseline) {
  for (const char* key : {"model", "library_version", "job_id"}) {
    const auto now = current.texts.find(key);
    const auto stored = baseline.texts.find(key);
    if (now == current.texts.end() || stored == baseline.texts.end() ||
        now->second == stored->second) {
      continue;
    }
    return absl::StrCat("the baseline is of ", key, " ", stored->second,
                        ", the file of ", now->second,
                        "; compare like with like, or update the baseline");
  }
  return "";
}

}  // namespace

namespace {

// What `train --metrics` says of its runs: MetricsJson in lib/runner/train.
constexpr char kRuns[] = "runs";
constexpr char kDisturbedRuns[] = "disturbed_runs";
constexpr char kWarnings[] = "warnings";
constexpr char kOfRuns[] = "of_runs.";

double NumberOf(const MetricsFile& file, const char* name) {
  const auto found = file.metrics.find(name);
  return found == file.metrics.end() ? 0 : found->second;
}

// The same rule as for rows. Empty if the file does not say that its runs were
// disturbed.
std::string DisturbedText(const MetricsFile& file, const char* side,
                          std::vector<std::string>* codes) {
  const double runs = NumberOf(file, kRuns);
  const double disturbed = NumberOf(file, kDisturbedRuns);
  const auto warnings = file.texts.find(kWarnings);
  if (disturbed <= 0 || 2 * disturbed < runs || warnings == file.texts.end()) {
    return "";
  }
  const std::vector<std::string> causes =
      absl::StrSplit(warnings->second, ' ', absl::SkipEmpty());
  codes->insert(codes->end(), causes.begin(), causes.end());
  return absl::StrCat(disturbed, " of ", runs, runs == 1 ? " run" : " runs",
                      " of ", side, disturbed == 1 ? " is " : " are ",
                      absl::StrJoin(causes, " and "));
}

// What the runs of both files say about chance.
void AddRuns(const MetricsFile& current, const MetricsFile& baseline,
             RuleJob* job) {
  job->disturbed = DisturbedText(current, "the file", &job->disturbances);
  const std::string stored =
      DisturbedText(baseline, "the baseline", &job->disturbances);
  job->is_baseline_disturbed = !stored.empty();
  absl::StrAppend(&job->disturbed,
                  job->disturbed.empty() || stored.empty() ? "" : "; ", stored);
  job->level = kSuiteLevel;
  for (const auto& [name, values] : current.lists) {
    absl::string_view metric = name;
    const auto before = baseline.lists.find(name);
    if (!absl::ConsumePrefix(&metric, kOfRuns) ||
        before == baseline.lists.end()) {
      continue;
    }
    const absl::optional<Shift> shift = ShiftOfRuns(before->second, values);
    if (shift && IsSpeed(std::string(metric))) {
      // They are of one `train` each, and how executions differ is not known.
      job->shifts[std::string(metric)] = shift->AcrossExecutions();
    }
  }
}

}  // namespace

absl::StatusOr<Verdict> CompareMetrics(const MetricsFile& current,
                                       const std::string& kind,
                                       const BaselineStore& store,
                                       const RuleOptions& options) {
  const std::string& profile = current.machine_profile;
  absl::optional<MetricsFile> baseline;
  if (kind == "eval") {
    ASSIGN_OR_RETURN(baseline, store.ReadEval(profile));
  } else {
    ASSIGN_OR_RETURN(baseline, store.ReadMetrics(profile));
  }
  if (!baseline) {
    ASSIGN_OR_RETURN(const std::string reason,
                     NoBaselineText(profile, kind, store));
    return Invalid("", kind, profile, kCodeNoBaseline, reason);
  }
  const std::string mismatch = OtherTexts(current, *baseline);
  if (!mismatch.empty()) {
    return Invalid("", kind, profile, kCodeOtherJob, mismatch);
  }
  RETURN_IF_ERROR(CheckMetrics(current, kind, options));
  RETURN_IF_ERROR(CheckMetrics(*baseline, kind, options));
  RETURN_IF_ERROR(CheckNoneMissing(*baseline, current, kind, options));
  ASSIGN_OR_RETURN(const std::vector<Calibration> calibrations,
                   store.ReadCalibrations(profile));
  const std::map<std::string, double> floors = FloorsOf(calibrations);
  RuleJob job;
  job.label = kind;
  job.machine_profile = profile;
  job.current = current.metrics;
  job.baseline = baseline->metrics;
  const auto floor = floors.find(kind);
  if (floor != floors.end()) job.floor_percent = floor->second;
  AddRuns(current, *baseline, &job);
  return JudgeRules(job, options);
}

namespace {

std::map<std::string, std::vector<Row>> ByProfile(
    const std::vector<Row>& rows) {
  std::map<std::string, std::vector<Row>> by_profile;
  for (const Row& row : rows) {
    // The library `null` measures the harness itself.
    if (row.library() == "null") continue;
    by_profile[row.machine_profile()].push_back(row);
  }
  return by_profile;
}

// Verdicts on the jobs of one machine.
void CompareMachine(const RunsByJob& current, const RunsByJob& baseline,
                    const std::map<std::string, double>& floors,
                    const RuleOptions& options,
                    std::vector<Verdict>* verdicts) {
  std::vector<JobPair> pairs;
  for (const auto& job : current) {
    const Row& row = job.second.runs[0];
    const auto found = baseline.find(job.first);
    if (found != baseline.end()) {
      pairs.push_back({&job.second, &found->second});
      continue;
    }
    verdicts->push_back(Invalid(job.first, JobLabel(row), row.machine_profile(),
                                kCodeNoBaseline, NoJobText(row, baseline)));
  }
  for (Verdict& verdict : JudgeJobs(pairs, floors, options)) {
    verdicts->push_back(std::move(verdict));
  }
  for (const auto& job : baseline) {
    const Row& row = job.second.runs[0];
    if (current.count(job.first) > 0 || row.library() == "null") continue;
    verdicts->push_back(Invalid(job.first, JobLabel(row), row.machine_profile(),
                                kCodeNotRun,
                                "the baseline has this job, the rows do not"));
  }
}

}  // namespace

std::vector<Verdict> CompareRowFiles(const std::vector<Row>& rows,
                                     const std::vector<Row>& baseline,
                                     const RuleOptions& options) {
  const std::map<std::string, std::vector<Row>> stored = ByProfile(baseline);
  std::vector<std::string> profiles;
  for (const auto& part : stored) profiles.push_back(part.first);
  std::vector<Verdict> verdicts;
  for (const auto& part : ByProfile(rows)) {
    const RunsByJob current = CleanestAttempts(part.second);
    const auto found = stored.find(part.first);
    if (found != stored.end()) {
      CompareMachine(current, RunsOfBaseline(found->second), {}, options,
                     &verdicts);
      continue;
    }
    for (const auto& job : current) {
      verdicts.push_back(Invalid(
          job.first, JobLabel(job.second.runs[0]), part.first, kCodeNoBaseline,
          absl::StrCat("the baseline is of machine ",
                       absl::StrJoin(profiles, " and "), ", the rows of ",
                       part.first, "; compare results of one machine")));
    }
  }
  return verdicts;
}

absl::StatusOr<std::vector<Verdict>> CompareRows(const std::vector<Row>& rows,
                                                 const BaselineStore& store,
                                                 const RuleOptions& options) {
  std::vector<Verdict> verdicts;
  for (const auto& part : ByProfile(rows)) {
    const std::string& profile = part.first;
    RunsByJob current = CleanestAttempts(part.second);
    ASSIGN_OR_RETURN(absl::optional<RunsByJob> baseline,
                     store.ReadRows(profile));
    if (baseline) MarkSlowCores(&current, &*baseline);
    if (!baseline) {
      ASSIGN_OR_RETURN(const std::string reason,
                       NoBaselineText(profile, "rows", store));
      for (const auto& job : current) {
        verdicts.push_back(Invalid(job.first, JobLabel(job.second.runs[0]),
                                   profile, kCodeNoBaseline, reason));
      }
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<Calibration> calibrations,
                     store.ReadCalibrations(profile));
    CompareMachine(current, *baseline, FloorsOf(calibrations), options,
                   &verdicts);
  }
  return verdicts;
}

}  // namespace feedrate
