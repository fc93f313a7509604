// Reason codes of verdicts. docs/compare_baseline.md explains each.
#ifndef FEEDRATE_LIB_GATE_CODES_H_
#define FEEDRATE_LIB_GATE_CODES_H_

namespace feedrate {

// Pairs.
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
// Statuses of rows that mean a side did not run to its end.
inline constexpr char kCodeCrashed[] = "crashed";
inline constexpr char kCodeFailed[] = "failed";
inline constexpr char kCodeTimeout[] = "timeout";
inline constexpr char kCodeOom[] = "oom";
// Rules; a breached metric is a code of its own.
inline constexpr char kCodeMissing[] = "missing";
inline constexpr char kCodeNoBaseline[] = "no_baseline";
inline constexpr char kCodeNotRun[] = "not_run";
inline constexpr char kCodeNoRule[] = "no_rule";
// The suite.
inline constexpr char kCodeTooManyCannotTell[] = "too_many_cannot_tell";
inline constexpr char kCodeNothingComparable[] = "nothing_comparable";

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_CODES_H_
