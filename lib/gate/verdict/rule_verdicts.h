// Verdicts by fixed tolerances, against the stored baselines of the same
// machine.
#ifndef FEEDRATE_LIB_GATE_VERDICT_RULE_VERDICTS_H_
#define FEEDRATE_LIB_GATE_VERDICT_RULE_VERDICTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/config/tolerances.pb.h"
#include "lib/gate/baselines.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// Reads and checks a file of tolerances. InvalidArgument names file and line.
absl::StatusOr<Tolerances> LoadTolerances(const std::string& path);

// The same for text. `file` is used in messages.
absl::StatusOr<Tolerances> ParseTolerances(absl::string_view text,
                                           const std::string& file);

// The tolerance for `metric` of a job: the last one that matches. Null if there
// is none, if it is off, or if it is for a tail and `with_tails` is false.
const Tolerance* ToleranceFor(const Tolerances& tolerances,
                              const std::string& metric,
                              const std::string& job_id,
                              const std::string& label, bool with_tails);

struct RuleOptions {
  Tolerances tolerances;
  bool with_tails = false;
};

// One comparison.
struct RuleJob {
  std::string job_id;
  std::string label;
  std::string machine_profile;
  Metrics current;
  Metrics baseline;
  // Smallest change that a calibration could detect, in percent.
  absl::optional<double> floor_percent;
};

// Checks each metric that has a tolerance.
// - a FAIL: `slower`, with each such metric as a code;
// - a breach smaller than the floor: `cannot_tell`, `below_floor`;
// - a metric that the baseline has and the candidate lacks: `cannot_tell`,
//   `missing`, because leaving out a number must not pass the gate;
// - a WARN: `same`, with the metric as a code;
// - no metric with a tolerance on both sides: `invalid`, `no_rule`.
Verdict JudgeRules(const RuleJob& job, const RuleOptions& options);

// InvalidArgument, with file, line and field, if a metric with a tolerance is
// not a number, or is below 0 although its tolerance is a percentage. `kind` is
// "metrics" or "eval".
absl::Status CheckMetrics(const MetricsFile& file, const std::string& kind,
                          const RuleOptions& options);

// Compares a metrics or eval file with the baseline of its machine. Without a
// baseline of that machine the verdict is `invalid`, `no_baseline`, and lists
// the machines that have one. InvalidArgument if CheckMetrics rejects one of
// the two, or if the baseline lacks a metric whose breach would be a FAIL.
absl::StatusOr<Verdict> CompareMetrics(const MetricsFile& current,
                                       const std::string& kind,
                                       const BaselineStore& store,
                                       const RuleOptions& options);

// One verdict per job of `rows` or of its machine's baseline:
// - a run ended badly: `invalid` with its status;
// - no row is `ok`: `unsupported` is `invalid`; `early_stopped` is
//   `cannot_tell` if the baseline was not stopped early;
// - not in the baseline: `invalid`, `no_baseline`;
// - only in the baseline: `invalid`, `not_run`;
// - otherwise by tolerances.
absl::StatusOr<std::vector<Verdict>> CompareRows(const std::vector<Row>& rows,
                                                 const BaselineStore& store,
                                                 const RuleOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_VERDICT_RULE_VERDICTS_H_
