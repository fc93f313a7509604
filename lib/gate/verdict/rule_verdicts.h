// Verdicts by fixed tolerances.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/config/tolerances.pb.h"
#include "lib/gate/shift.h"
#include "lib/gate/stored_runs.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {
// How much worse than its baseline a number may be: files of tolerances.

// Reads and checks a file of tolerances. InvalidArgument names file and line. A
// metric must be one of MetricNames or of `others`, or a pattern for one: a
// tolerance of a misspelled metric would never be breached.
absl::StatusOr<Tolerances> LoadTolerances(
    const std::string& path, const std::vector<std::string>& others = {});

// The same for text. `file` is used in messages.
absl::StatusOr<Tolerances> ParseTolerances(
    absl::string_view text, const std::string& file,
    const std::vector<std::string>& others = {});

// The tolerance for `metric` of a job: the last one that matches. Null if there
// is none, if it is off, or if it is for a tail and `with_tails` is false.
const Tolerance* ToleranceFor(const Tolerances& tolerances,
                              const std::string& metric,
                              const std::string& job_id,
                              const std::string& label, bool with_tails);

struct RuleOptions {
  Tolerances tolerances;
  bool with_tails = false;
  // Also compare with the baseline of another version of the library.
  bool any_version = false;
};

// Whether a metric is a time or a rate. Noise and calibrated floors concern
// only these.
bool IsSpeed(const std::string& metric);

// One comparison.
struct RuleJob {
  std::string job_id;
  std::string label;
  std::string machine_profile;
  Metrics current;
  Metrics baseline;
  // Smallest change that a calibration could detect, in percent.
  absl::optional<double> floor_percent;
  // What disturbed the timings, and the warnings that say so. Empty if nothing
  // did.
  std::string disturbed;
  std::vector<std::string> disturbances;
  bool is_baseline_disturbed = false;
  // If the machine disturbed many other jobs, what it did. A change that looks
  // clean is then not trusted either.
  std::string busy;
  // The differences of the runs, by metric, and the level at which they are
  // tested. Empty if there are no runs.
  std::map<std::string, Shift> shifts;
  double level = 0;
  // All runs of the baseline are of one execution of a program, so they do not
  // tell how much executions differ.
  bool one_execution = false;
  // How the memory differed, in words. Empty if the job hardly noticed.
  std::string memory;
  // If true, a change beyond the tolerance is `cannot_tell` unless runs show
  // how much the metric scatters. Set when each side is a single number of
  // another harness.
  bool needs_spread = false;
  // What the reason adds about the evidence. Empty if it is the usual one.
  std::string evidence;
  // What one item of `throughput` is, such as `image`.
  std::string item;
};

// Checks each metric that has a tolerance.
// - a FAIL: `slower`, with each such metric as a code;
// - a breach smaller than the floor: `cannot_tell`, `below_floor`;
// - a breach that may be chance: `cannot_tell`, `spread`;
// - a time or rate of a disturbed job: `cannot_tell`, with the disturbances as
//   codes, because noise can hide a change as well as cause one;
// - a metric that the baseline has and the candidate lacks: `cannot_tell`,
//   `missing`, because leaving out a number must not pass the gate;
// - a WARN: `same`, with the metric as a code;
// - no metric with a tolerance on both sides: `invalid`, `no_rule`.
Verdict JudgeRules(const RuleJob& job, const RuleOptions& options);

}  // namespace feedrate
