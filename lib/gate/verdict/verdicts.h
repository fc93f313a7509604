// Verdicts on the jobs of a duel and on the whole suite, with their reason
// codes. docs/compare_baseline.md explains each code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/base/tool/exit_code.h"
#include "lib/gate/paired_rows.h"
#include "lib/records/verdict.pb.h"
#include "lib/stats/paired_design.h"

namespace feedrate {

// Codes of paired comparisons.
inline constexpr char kCodeTime[] = "time";
inline constexpr char kCodeSmallChange[] = "small_change";
inline constexpr char kCodeNoisy[] = "noisy";
inline constexpr char kCodeFewPairs[] = "few_pairs";
inline constexpr char kCodeBelowFloor[] = "below_floor";
inline constexpr char kCodeOneSideOnly[] = "one_side_only";
inline constexpr char kCodeMixedProfiles[] = "mixed_profiles";
inline constexpr char kCodeEarlyStopped[] = "early_stopped";
inline constexpr char kCodeUnsupported[] = "unsupported";
inline constexpr char kCodeNoTime[] = "no_time";
inline constexpr char kCodeIdentical[] = "identical";
inline constexpr char kCodeControlMoved[] = "control_moved";
inline constexpr char kCodeGpuShared[] = "gpu_shared";
// A row status of a side that did not run to completion; the others that
// IsFailure knows are codes too.
inline constexpr char kCodeCrashed[] = "crashed";
// Beside one of these: it is so on both sides, and was before.
inline constexpr char kCodeBothSides[] = "both_sides";
// Codes of tolerance rules. A metric beyond its tolerance has its own name as a
// code.
inline constexpr char kCodeMissing[] = "missing";
inline constexpr char kCodeNoBaseline[] = "no_baseline";
inline constexpr char kCodeNotRun[] = "not_run";
inline constexpr char kCodeNoRule[] = "no_rule";
inline constexpr char kCodeSpread[] = "spread";
inline constexpr char kCodeOtherVersion[] = "other_version";
inline constexpr char kCodeOtherData[] = "other_data";
inline constexpr char kCodeOtherJob[] = "other_job";
// Codes of the suite.
inline constexpr char kCodeTooManyCannotTell[] = "too_many_cannot_tell";
inline constexpr char kCodeNothingComparable[] = "nothing_comparable";
inline constexpr char kCodeTooFewCompared[] = "too_few_compared";

// At the end of the reason of a change without --relink.
inline constexpr char kLayoutNotExcluded[] =
    "; layout effects are not excluded";

struct PairedOptions {
  // Smallest change of interest, in percent.
  double interest_percent = kInterestPercent;
  // Smallest change that a calibration could detect, in percent, by job id.
  // Smaller changes are not judged.
  std::map<std::string, double> floor_percent;
  // The records come from a program that the caller has just started, so that
  // the duel's commands may be printed to be run again. Text of a file may be
  // anybody's.
  bool are_own_records = false;
};

// The design that a duel followed, from its own record or, without one, from
// the stages of its rows. The level depends on the number of jobs and metrics.
PairedDesign DesignOf(const PairedRows& rows, const PairedOptions& options);

// Number of jobs that share the level: those with a complete pair, at least 1.
int64_t JudgedJobs(const PairedRows& rows);

// The same for each metric besides time.
PairedDesign MetricDesignOf(const PairedRows& rows, PairedDesign design);

// Whether the time of a job, or one of its metrics, is undecided after the
// look, so that more pairs are needed. REQUIRES: the job has a complete pair.
bool IsUndecided(const PairedJob& job, const MetricChoice& choice,
                 const PairedDesign& design, PairedDesign metric_design,
                 int look);

// The control that differs most between the sides of a duel.
struct MovedControl {
  // In words. Empty if none differs by more than chance, which makes about one
  // in 200 duels differ.
  std::string text;
  // By how much, in percent, in either direction.
  double percent = 0;
};
MovedControl FindMovedControl(const PairedRows& rows, double interest_percent);

// One verdict per job, in the order of the jobs. If a control moved, only
// changes larger than its own are not `cannot_tell`.
std::vector<Verdict> JudgePairs(const PairedRows& rows,
                                const PairedOptions& options);

// A pull request may add benchmarks, or change what some of them measure. If
// fewer than half of the jobs are left to compare, it is another suite.
inline constexpr double kMinComparedPercent = 50;

struct SuiteOptions {
  // Jobs that may be `cannot_tell`, in percent of the judged jobs. A single job
  // may never be.
  double max_cannot_tell_percent = 5;
  // Jobs of either side that must be compared, in percent. What both sides do
  // not support does not count.
  double min_compared_percent = kMinComparedPercent;
};

// The verdict on all jobs together (suite_verdict.cc). The first that applies
// sets the exit code, which is in the record: 2 when one side crashed, failed,
// or ran out of time or memory (never a regression); 3 for any `slower`; 5 when
// nothing was comparable; 4 when too few jobs were compared or too many are
// `cannot_tell`; otherwise 0. The reason says how many jobs were compared if
// some were not.
Verdict SuiteVerdict(const std::vector<Verdict>& jobs,
                     const SuiteOptions& options);

// Whether an `invalid` job is a part of why the suite is not exit 0. All
// formats call such a job an error, and any other `invalid` one a warning.
bool IsError(const Verdict& job, const Verdict& suite);

ExitCode ExitCodeOfSuite(const Verdict& suite);

}  // namespace feedrate
