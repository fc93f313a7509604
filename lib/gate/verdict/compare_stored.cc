#include "lib/gate/verdict/compare_stored.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"
#include "lib/base/status_macros.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/shift.h"
#include "lib/gate/stored_runs.h"
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
// The share of the machine's limit that a job reaches.
constexpr char kOfLimit[] = "of_limit";
// --explain says how many executions would find such a change.
constexpr double kExplainedPercent = 3;
// The smallest effect of the memory that a reason mentions, as a logarithm.
constexpr double kMentionedMemory = 0.01;

// Jobs of the same library and transform, at most so many of each: the reason
// names the nearest one.
constexpr size_t kMostSimilar = 100;
using Similarity = std::tuple<std::string, std::string, std::string>;
using SimilarJobs = std::map<Similarity, std::vector<const Row*>>;

Similarity SimilarityOf(const Row& row) {
  return {row.mode(), row.library(), row.transform()};
}

SimilarJobs FindSimilar(const RunsByJob& jobs) {
  SimilarJobs similar;
  for (const auto& job : jobs) {
    const Row& row = job.second.runs[0];
    std::vector<const Row*>& group = similar[SimilarityOf(row)];
    if (group.size() < kMostSimilar) group.push_back(&row);
  }
  return similar;
}

// Why the baseline lacks a job: the nearest one that it has.
std::string NoJobText(const Row& row, const SimilarJobs& baseline) {
  std::string nearest;
  const auto similar = baseline.find(SimilarityOf(row));
  if (similar == baseline.end()) return "the baseline does not have this job";
  for (const Row* other : similar->second) {
    const std::string difference = IdentityDifference(row, *other);
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

// The baseline did not run either.
void SayBothSides(Verdict* verdict) {
  verdict->add_codes(kCodeBothSides);
  std::sort(verdict->mutable_codes()->begin(), verdict->mutable_codes()->end());
  absl::StrAppend(verdict->mutable_reason(), "; it was so in the baseline");
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
  const std::vector<Row>& stored = pair.baseline->runs;
  for (const Row& run : current) {
    if (!EndedBadly(run.status())) continue;
    Verdict verdict = InvalidVerdict(
        row.job_id(), label, profile, run.status(),
        absl::StrCat("run ", run.run_index(), " ", run.status(),
                     run.reason().empty() ? "" : ": ", run.reason()));
    if (std::any_of(stored.begin(), stored.end(), [](const Row& other) {
          return EndedBadly(other.status());
        })) {
      SayBothSides(&verdict);
    }
    return verdict;
  }
  if (!HasStatus(current, "ok")) {
    Verdict verdict =
        InvalidVerdict(row.job_id(), label, profile, row.status(),
                       absl::StrCat("no run is ok: ", row.reason()));
    if (HasStatus(stored, "ok")) {
      verdict.set_verdict("cannot_tell");
      verdict.set_reason(row.status() == kCodeEarlyStopped
                             ? "stopped early, which the baseline did not"
                             : "unsupported, which the baseline was not");
    } else {
      SayBothSides(&verdict);
    }
    return verdict;
  }
  if (!HasStatus(stored, "ok")) {
    return InvalidVerdict(
        row.job_id(), label, profile, kCodeNoBaseline,
        absl::StrCat("it runs, but no run of the baseline is ok (",
                     stored[0].status(), stored[0].reason().empty() ? "" : ": ",
                     stored[0].reason(), "); update the baseline"));
  }
  const absl::optional<Mismatch> mismatch =
      FindMismatch(current, stored, options.any_version);
  if (!mismatch) return absl::nullopt;
  return InvalidVerdict(
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
                    const std::map<std::string, double>& floors,
                    const RowMetrics& metrics) {
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
  std::vector<Row> clean[2];
  const auto counted = [&job](
                           const JobRuns& side,
                           std::vector<Row>* clean) -> const std::vector<Row>& {
    if (!job.disturbed.empty() || side.IsClean()) return side.runs;
    *clean = side.Clean();
    return *clean;
  };
  const std::vector<Row>& current = counted(*pair.current, &clean[0]);
  const std::vector<Row>& baseline = counted(*pair.baseline, &clean[1]);
  const RunValues now = metrics.ValuesOf(current);
  const RunValues before = metrics.ValuesOf(baseline);
  const std::vector<std::string> executions_now = ExecutionsOf(current);
  const std::vector<std::string> executions_before = ExecutionsOf(baseline);
  job.current = MediansOf(now);
  job.baseline = MediansOf(before);
  const auto of_limit = job.current.find(kOfLimit);
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
    absl::optional<Shift> shift = ShiftOfRuns(
        corrects ? Without(memory.baseline, stored->second) : stored->second,
        corrects ? Without(memory.current, metric.second) : metric.second,
        executions_before, executions_now);
    if (!shift) continue;
    if (is_throughput && !has_runs) {
      const Shift of_runs = *shift;
      shift = ShiftWithinRuns(baseline[0], current[0], of_runs, &job);
      shift->baseline_executions = of_runs.baseline_executions;
      shift->executions = of_runs.executions;
      shift->unseen = of_runs.unseen;
    }
    const bool are_processes = shift->baseline_executions == 1 &&
                               shift->executions == 1 && IsImported(row);
    if (are_processes) shift->unseen = kUnseenProcesses;
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

// Says how many executions the verdict rests on, and what they cannot tell.
void SayExecutions(const RuleJob& job, Verdict* verdict) {
  const auto found = job.shifts.find("throughput");
  if (found == job.shifts.end() || verdict->verdict() == "invalid") return;
  const Shift& shift = found->second;
  if (shift.executions == 0) return;
  Executions* const executions = verdict->mutable_executions();
  executions->set_baseline(shift.baseline_executions);
  executions->set_current(shift.executions);
  if (shift.baseline_executions + shift.executions > 2) {
    executions->set_differ_percent(
        PercentOfLog(shift.error / std::sqrt(shift.run_share)));
    executions->set_needed(ExecutionsFor(shift, kExplainedPercent, job.level));
  }
  const bool is_about_it =
      absl::c_linear_search(verdict->codes(), kCodeSpread) ||
      shift.unseen == kUnseenProcesses;
  if (shift.unseen == 0 || !is_about_it) return;
  absl::StrAppend(
      verdict->mutable_reason(),
      shift.unseen == kUnseenProcesses
          ? absl::StrFormat(
                "; each side is one process, so the chance is not known: "
                "another load or layout may explain less than %.0f%%; run both "
                "sides with duel",
                -PercentOfLog(-shift.unseen))
          : absl::StrFormat(
                "; %d executions of both sides do not show how much executions "
                "differ, so less than %.0f%% is not judged: store and measure "
                "%d together, or use duel",
                shift.baseline_executions + shift.executions,
                -PercentOfLog(-shift.unseen), kEnoughExecutions));
}

// The metrics that have a tolerance, and those that say something of others.
RowMetrics JudgedMetrics(const Tolerances& tolerances) {
  return RowMetrics([&tolerances](const std::string& name) {
    return name == "throughput" || name == kOfLimit || name == kClock ||
           absl::c_any_of(tolerances.tolerances(), [&](const Tolerance& one) {
             return GlobMatches(one.metric(), name);
           });
  });
}

// Adds verdicts on the jobs that both sides have.
void JudgeJobs(const std::vector<JobPair>& pairs,
               const std::map<std::string, double>& floors,
               const RuleOptions& options, std::vector<Verdict>* verdicts) {
  const RowMetrics metrics = JudgedMetrics(options.tolerances);
  std::vector<RuleJob> jobs;
  jobs.reserve(pairs.size());
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
      verdicts->push_back(*std::move(verdict));
      continue;
    }
    jobs.push_back(
        MakeRuleJob(pair, copies_now, copies_before, floors, metrics));
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
    // Half of it: executions are few, and not all machines are normal.
    job.level = kSuiteLevel / 2 / jobs.size();
    for (auto& shift : job.shifts) {
      shift.second = noise.Moderate(shift.first, shift.second);
      if (job.one_execution) shift.second = shift.second.AcrossExecutions();
    }
    const auto throughput = job.shifts.find("throughput");
    const bool knows_executions =
        throughput != job.shifts.end() && throughput->second.executions > 0;
    if (job.needs_spread && !knows_executions) {
      job.evidence =
          job.shifts["throughput"].Limit(job.level) > 0
              ? "there is one number on each side, so the scatter of all jobs "
                "stands in for its spread"
              : "there is one number on each side and no spread is known; "
                "repeat the benchmark, or run both sides with duel";
    }
    Verdict verdict = JudgeRules(job, options);
    SayExecutions(job, &verdict);
    if (!job.memory.empty() && verdict.verdict() != "invalid") {
      absl::StrAppend(verdict.mutable_reason(), "; ", job.memory);
    }
    verdict.set_pairs(static_cast<int64_t>(runs[i]->runs.size()));
    if (!runs[i]->not_last.empty()) {
      absl::StrAppend(verdict.mutable_reason(),
                      "; the cleanest attempts count (",
                      absl::StrJoin(runs[i]->not_last, ", "), ")");
    }
    verdicts->push_back(std::move(verdict));
  }
}

std::map<std::string, std::vector<Row>> ByProfile(std::vector<Row> rows) {
  std::map<std::string, std::vector<Row>> by_profile;
  if (rows.empty()) return by_profile;
  // Most files are of one machine.
  if (absl::c_all_of(rows, [&rows](const Row& row) {
        return row.library() != "null" &&
               row.machine_profile() == rows[0].machine_profile();
      })) {
    by_profile[rows[0].machine_profile()].swap(rows);
    return by_profile;
  }
  for (Row& row : rows) {
    // The library `null` measures the harness itself.
    if (row.library() == "null") continue;
    by_profile[row.machine_profile()].push_back(std::move(row));
  }
  return by_profile;
}

// Verdicts on the jobs of one machine.
void CompareMachine(const RunsByJob& current, const RunsByJob& baseline,
                    const std::map<std::string, double>& floors,
                    const RuleOptions& options,
                    std::vector<Verdict>* verdicts) {
  std::vector<JobPair> pairs;
  verdicts->reserve(verdicts->size() + current.size());
  const SimilarJobs similar = FindSimilar(baseline);
  for (const auto& job : current) {
    const Row& row = job.second.runs[0];
    const auto found = baseline.find(job.first);
    if (found != baseline.end()) {
      pairs.push_back({&job.second, &found->second});
      continue;
    }
    verdicts->push_back(InvalidVerdict(job.first, JobLabel(row),
                                       row.machine_profile(), kCodeNoBaseline,
                                       NoJobText(row, similar)));
  }
  JudgeJobs(pairs, floors, options, verdicts);
  for (const auto& job : baseline) {
    const Row& row = job.second.runs[0];
    if (current.count(job.first) > 0 || row.library() == "null") continue;
    verdicts->push_back(InvalidVerdict(
        job.first, JobLabel(row), row.machine_profile(), kCodeNotRun,
        "the baseline has this job, the rows do not"));
  }
}

}  // namespace

std::vector<Verdict> CompareRowFiles(std::vector<Row> rows,
                                     std::vector<Row> baseline,
                                     const RuleOptions& options) {
  std::map<std::string, std::vector<Row>> stored =
      ByProfile(std::move(baseline));
  std::vector<std::string> profiles;
  for (const auto& part : stored) profiles.push_back(part.first);
  std::vector<Verdict> verdicts;
  for (auto& part : ByProfile(std::move(rows))) {
    RunsByJob current = RunsOfAllExecutions(std::move(part.second));
    const auto found = stored.find(part.first);
    if (found != stored.end()) {
      RunsByJob before = RunsOfAllExecutions(std::move(found->second));
      MarkSlowCores(&current, &before);
      CompareMachine(current, before, {}, options, &verdicts);
      continue;
    }
    for (const auto& job : current) {
      verdicts.push_back(InvalidVerdict(
          job.first, JobLabel(job.second.runs[0]), part.first, kCodeNoBaseline,
          absl::StrCat("the baseline is of machine ",
                       absl::StrJoin(profiles, " and "), ", the rows of ",
                       part.first, "; compare results of one machine")));
    }
  }
  return verdicts;
}

absl::StatusOr<std::vector<Verdict>> CompareRows(std::vector<Row> rows,
                                                 const BaselineStore& store,
                                                 const RuleOptions& options) {
  std::vector<Verdict> verdicts;
  for (auto& part : ByProfile(std::move(rows))) {
    const std::string& profile = part.first;
    RunsByJob current = RunsOfAllExecutions(std::move(part.second));
    ASSIGN_OR_RETURN(absl::optional<RunsByJob> baseline,
                     store.ReadRows(profile));
    if (baseline) MarkSlowCores(&current, &*baseline);
    if (!baseline) {
      ASSIGN_OR_RETURN(const std::string reason,
                       NoBaselineText(profile, "rows", store));
      for (const auto& job : current) {
        verdicts.push_back(InvalidVerdict(job.first,
                                          JobLabel(job.second.runs[0]), profile,
                                          kCodeNoBaseline, reason));
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
