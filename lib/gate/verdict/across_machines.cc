#include "lib/gate/verdict/across_machines.h"

#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "lib/base/status_macros.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/stored_runs.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/stats/machine_scaling.h"
#include "lib/stats/paired_design.h"
#include "lib/stats/summary.h"

namespace feedrate {
namespace {

// Degrees of freedom with which t is the normal distribution.
constexpr double kManyDf = 1e9;
// The error of a job with one run, which shows none.
constexpr double kSingleRunError = 0.03;

// By workload.
using Speeds = std::map<std::string, LogSpeed>;

struct Machine {
  std::string profile;
  Speeds speeds;
  RunsByJob runs;
};

// Rounds of several records of a machine count together.
Speeds SpeedsOf(const std::vector<ReferenceSpeeds>& references,
                const std::string& profile) {
  std::map<std::string, std::vector<double>> rounds;
  for (const ReferenceSpeeds& reference : references) {
    if (reference.machine_profile() != profile) continue;
    for (const ReferenceWorkload& one : reference.workloads()) {
      for (const double speed : one.per_s()) {
        if (std::isfinite(speed) && speed > 0) {
          rounds[one.workload()].push_back(speed);
        }
      }
    }
  }
  Speeds speeds;
  for (const auto& one : rounds) {
    speeds[one.first] = LogSpeedOf(one.second, kSingleRunError);
  }
  return speeds;
}

absl::StatusOr<std::vector<Machine>> ReadMachines(const BaselineStore& store,
                                                  const std::string& but) {
  ASSIGN_OR_RETURN(const std::vector<std::string> profiles, store.Profiles());
  std::vector<Machine> machines;
  for (const std::string& profile : profiles) {
    if (profile == but) continue;
    ASSIGN_OR_RETURN(absl::optional<RunsByJob> runs, store.ReadRows(profile));
    if (!runs) continue;
    ASSIGN_OR_RETURN(const std::vector<ReferenceSpeeds> references,
                     store.ReadReferences(profile));
    Machine machine{profile, SpeedsOf(references, profile), *std::move(runs)};
    if (!machine.speeds.empty()) machines.push_back(std::move(machine));
  }
  return machines;
}

absl::optional<LogSpeed> JobSpeed(const JobRuns& job) {
  std::vector<double> throughputs;
  for (const Row& row : job.Clean()) {
    if (row.status() == "ok" && row.throughput() > 0) {
      throughputs.push_back(row.throughput());
    }
  }
  if (throughputs.empty()) return absl::nullopt;
  return LogSpeedOf(throughputs, kSingleRunError);
}

Verdict Undecided(const Row& row, const char* word, const std::string& code,
                  const std::string& reason) {
  Verdict verdict;
  verdict.set_scope("job");
  verdict.set_job_id(row.job_id());
  verdict.set_job(JobLabel(row));
  verdict.set_mode("rules");
  verdict.set_machine_profile(row.machine_profile());
  verdict.set_verdict(word);
  verdict.add_codes(code);
  verdict.set_reason(reason);
  return verdict;
}

// Work that is on inputs in memory. The speed of disks differs between machines
// more than anything else, and would only blur what it should reach.
bool IsWithoutDisk(const Row& row) {
  return row.mode() == "micro" || row.mode() == "train";
}

// A job, what it reached and what it should reach.
struct Comparison {
  const JobRuns* runs = nullptr;
  ScaledJob scaled;
  // Machines and workloads that the prediction rests on.
  std::vector<std::string> machines;
  std::vector<std::string> workloads;
};

// A verdict if the job cannot be compared, and otherwise its comparison.
absl::optional<Verdict> Predict(const JobRuns& runs, const Speeds& speeds,
                                const std::vector<Machine>& machines,
                                const RuleOptions& options,
                                Comparison* comparison) {
  const Row& row = runs.runs[0];
  for (const Row& run : runs.runs) {
    if (run.status() == "ok") continue;
    return Undecided(
        run, "invalid", run.status(),
        absl::StrCat("run ", run.run_index(), " ", run.status(),
                     run.reason().empty() ? "" : ": ", run.reason()));
  }
  std::vector<std::string> causes;
  const std::string disturbed = DisturbedText(runs, "the rows", &causes);
  if (!disturbed.empty()) {
    return Undecided(row, "cannot_tell", causes[0], disturbed);
  }
  std::vector<const Machine*> known;
  std::string mismatch;
  for (const Machine& machine : machines) {
    const auto job = machine.runs.find(row.job_id());
    if (job == machine.runs.end() || !JobSpeed(job->second)) continue;
    const absl::optional<Mismatch> other =
        FindMismatch(runs.runs, job->second.runs, options.any_version);
    if (other) {
      mismatch = other->reason;
      continue;
    }
    known.push_back(&machine);
  }
  if (known.empty()) {
    return Undecided(
        row, "invalid", kCodeNoBaseline,
        mismatch.empty() ? "no other machine has this job" : mismatch);
  }
  for (const auto& one : speeds) {
    if (one.first == "disk" && IsWithoutDisk(row)) continue;
    bool is_everywhere = true;
    for (const Machine* machine : known) {
      is_everywhere &= machine->speeds.count(one.first) > 0;
    }
    if (is_everywhere) comparison->workloads.push_back(one.first);
  }
  if (comparison->workloads.empty()) {
    return Undecided(row, "invalid", kCodeNoReference,
                     "the machines have no reference workload in common");
  }
  std::vector<KnownSpeed> known_speeds;
  for (const Machine* machine : known) {
    KnownSpeed speed;
    for (const std::string& workload : comparison->workloads) {
      speed.references.push_back(machine->speeds.at(workload));
    }
    speed.job = *JobSpeed(machine->runs.at(row.job_id()));
    known_speeds.push_back(std::move(speed));
    comparison->machines.push_back(machine->profile);
  }
  std::vector<LogSpeed> here;
  for (const std::string& workload : comparison->workloads) {
    here.push_back(speeds.at(workload));
  }
  comparison->runs = &runs;
  comparison->scaled.measured = *JobSpeed(runs);
  comparison->scaled.predicted = PredictSpeed(known_speeds, here, kUnexplained);
  return absl::nullopt;
}

Verdict Judge(const Comparison& comparison, double level,
              const RuleOptions& options) {
  const ScaledJob& scaled = comparison.scaled;
  const Row& row = comparison.runs->runs[0];
  RuleJob job;
  job.job_id = row.job_id();
  job.label = JobLabel(row);
  job.machine_profile = row.machine_profile();
  job.item = row.unit();
  job.level = level;
  job.current["throughput"] = std::exp(scaled.measured.log);
  job.baseline["throughput"] = std::exp(scaled.measured.log - scaled.shift);
  Shift shift;
  shift.log = scaled.shift;
  // As an error of a normal distribution that gives the limit.
  shift.df = kManyDf;
  shift.error = scaled.limit / StudentTQuantile(1 - level, kManyDf);
  job.shifts["throughput"] = shift;
  Verdict verdict = JudgeRules(job, options);
  verdict.set_pairs(static_cast<int64_t>(comparison.runs->runs.size()));
  const double floor =
      scaled.limit + StudentTQuantile(kPower, kManyDf) * scaled.error;
  verdict.set_floor_percent(-PercentOfLog(-floor));
  verdict.set_floor_source("estimated");
  absl::StrAppendFormat(
      verdict.mutable_reason(),
      "; expected from %s by the reference workloads %s; smallest detectable "
      "change: %.1f%%",
      absl::StrJoin(comparison.machines, ", "),
      absl::StrJoin(comparison.workloads, ", "), verdict.floor_percent());
  return verdict;
}

std::string NoteOn(const absl::optional<double>& common,
                   const std::vector<Verdict>& verdicts) {
  std::string note;
  if (common) {
    const double percent = PercentOfLog(*common);
    note = absl::StrFormat(
        "all jobs together are %.1f%% %s than the reference workloads predict; "
        "that may be the machine or the code, which cannot be told apart "
        "across "
        "machines",
        std::abs(percent), percent < 0 ? "slower" : "faster");
  } else {
    note = absl::StrCat(
        "with fewer than ", kScalableJobs,
        " jobs, what the machine does to a job and no reference workload shows "
        "is assumed to be ",
        100 * kUnexplained, "%");
  }
  double least = 0;
  double most = 0;
  for (const Verdict& verdict : verdicts) {
    if (!verdict.has_floor_percent()) continue;
    least = least == 0 ? verdict.floor_percent()
                       : std::min(least, verdict.floor_percent());
    most = std::max(most, verdict.floor_percent());
  }
  absl::StrAppendFormat(&note, "; smallest detectable change: %.1f%%", least);
  if (most > least) absl::StrAppendFormat(&note, " to %.1f%%", most);
  return note;
}

}  // namespace

absl::StatusOr<AcrossMachines> CompareAcrossMachines(
    const std::vector<Row>& rows,
    const std::vector<ReferenceSpeeds>& references, const BaselineStore& store,
    const RuleOptions& options) {
  AcrossMachines result;
  if (rows.empty()) return result;
  const std::string& profile = rows[0].machine_profile();
  const RunsByJob current = CleanestAttempts(rows);
  const Speeds speeds = SpeedsOf(references, profile);
  ASSIGN_OR_RETURN(const std::vector<Machine> machines,
                   ReadMachines(store, profile));
  std::string problem;
  if (speeds.empty()) {
    problem =
        absl::StrCat("the rows have no reference speeds of machine ", profile,
                     "; append them with `collect_env --reference_speeds >> "
                     "ROWS` on that machine");
  } else if (machines.empty()) {
    problem = absl::StrCat(
        store.folder(),
        " has no rows baseline of another machine with reference speeds; "
        "append `collect_env --reference_speeds` to its rows and update it");
  }
  std::vector<Comparison> comparisons;
  for (const auto& job : current) {
    Comparison comparison;
    absl::optional<Verdict> verdict =
        problem.empty()
            ? Predict(job.second, speeds, machines, options, &comparison)
            : Undecided(job.second.runs[0], "invalid", kCodeNoReference,
                        problem);
    if (verdict) {
      result.verdicts.push_back(*std::move(verdict));
    } else {
      comparisons.push_back(std::move(comparison));
    }
  }
  if (comparisons.empty()) return result;
  std::vector<ScaledJob> scaled;
  for (const Comparison& one : comparisons) scaled.push_back(one.scaled);
  const absl::optional<double> common = ScaleSuite(kSuiteLevel, &scaled);
  const double level = kSuiteLevel / static_cast<double>(scaled.size());
  for (size_t i = 0; i < scaled.size(); ++i) {
    comparisons[i].scaled = scaled[i];
    result.verdicts.push_back(Judge(comparisons[i], level, options));
  }
  result.note = NoteOn(common, result.verdicts);
  return result;
}

}  // namespace feedrate
