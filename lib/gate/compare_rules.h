// Candidates held against the baselines of their own machine.
#ifndef FEEDRATE_LIB_GATE_COMPARE_RULES_H_
#define FEEDRATE_LIB_GATE_COMPARE_RULES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/gate/baseline_store.h"
#include "lib/gate/judge_rules.h"
#include "lib/gate/metrics.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// One verdict. `kind` is "metrics" or "eval". No baseline of the machine is
// `invalid`, `no_baseline`, and says which machines there are.
absl::StatusOr<Verdict> CompareMetrics(const MetricsFile& current,
                                       const std::string& kind,
                                       const BaselineStore& store,
                                       const RuleOptions& options);

// One verdict a job of `rows` or of its machine's baseline:
// - a run that ended badly: `invalid` with its status;
// - no row is `ok`: `unsupported` is invalid, `early_stopped` cannot be told
//   when the baseline was not;
// - not in the baseline: `invalid`, `no_baseline`;
// - only in the baseline: `invalid`, `not_run`;
// - else by tolerances.
absl::StatusOr<std::vector<Verdict>> CompareRows(const std::vector<Row>& rows,
                                                 const BaselineStore& store,
                                                 const RuleOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_COMPARE_RULES_H_
