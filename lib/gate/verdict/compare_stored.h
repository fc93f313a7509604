// Compares results with the stored baselines of the same machine.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/gate/baselines.h"
#include "lib/gate/verdict/rule_verdicts.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// A verdict on a job that cannot be compared.
Verdict InvalidVerdict(const std::string& job_id, const std::string& label,
                       const std::string& profile, const std::string& code,
                       const std::string& reason);
// Why there is no baseline of `kind` for a machine, and which there are.
absl::StatusOr<std::string> NoBaselineText(const std::string& profile,
                                           const std::string& kind,
                                           const BaselineStore& store);

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
// - not in the baseline, or no run of it is `ok` there: `invalid`,
//   `no_baseline`;
// - of something else than the baseline: `invalid` with the code of
//   FindMismatch (lib/gate/stored_runs.h);
// - only in the baseline: `invalid`, `not_run`;
// - otherwise by tolerances.
absl::StatusOr<std::vector<Verdict>> CompareRows(std::vector<Row> rows,
                                                 const BaselineStore& store,
                                                 const RuleOptions& options);

// The same with the rows of a file as the baseline, without calibrations. Rows
// of a machine that the file has no rows of are `invalid`, `no_baseline`.
std::vector<Verdict> CompareRowFiles(std::vector<Row> rows,
                                     std::vector<Row> baseline,
                                     const RuleOptions& options);

}  // namespace feedrate
