// Verdicts by fixed tolerances, against a stored baseline.
#ifndef FEEDRATE_LIB_GATE_JUDGE_RULES_H_
#define FEEDRATE_LIB_GATE_JUDGE_RULES_H_

#include <map>
#include <string>

#include "absl/types/optional.h"
#include "lib/config/tolerances.pb.h"
#include "lib/gate/metrics.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct RuleOptions {
  Tolerances tolerances;
  bool with_tails = false;
};

// What is compared under one name.
struct RuleJob {
  std::string job_id;
  std::string words;
  std::string machine_profile;
  Metrics current;
  Metrics baseline;
  // Smallest change in percent that a calibration showed to be seen.
  absl::optional<double> floor_percent;
};

// Holds each metric with a tolerance against it.
// - a FAIL: `slower`, with each such metric as a code;
// - a breach that is smaller than the floor: `cannot_tell`, `below_floor`;
// - a metric that the baseline has and the candidate does not: `cannot_tell`,
//   `missing`: leaving a number out must not pass the gate;
// - a WARN: `same`, with the metric as a code;
// - no metric with a tolerance on both sides: `invalid`, `no_rule`.
Verdict JudgeRules(const RuleJob& job, const RuleOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_JUDGE_RULES_H_
