// Reads what compare_baseline judges.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/gate/baselines.h"
#include "lib/gate/gate_metrics.h"
#include "lib/gate/paired_rows.h"
#include "lib/imports/imports.h"
#include "lib/records/env.pb.h"
#include "lib/records/row.pb.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// The input of compare_baseline: rows, a metrics file, or earlier verdicts.
struct GateInput {
  // Rows with `pair`, and the record of their duel.
  PairedRows paired{RunStatistic::kTypical};
  int64_t paired_rows = 0;
  // Rows without `pair`.
  std::vector<Row> rows;
  // Command lines of the runners, by run_id.
  std::map<std::string, std::vector<std::string>> commands;
  absl::optional<MetricsFile> metrics;
  // The text of the metrics file.
  std::string metrics_text;
  // Where the commands of the duel spend their time.
  std::vector<Profile> profiles;
  // Verdicts on jobs, to be printed in another format.
  std::vector<Verdict> verdicts;
  // The verdict on their suite, by the flags of that time.
  absl::optional<Verdict> suite;
  // The rows are results of another harness.
  bool is_imported = false;
  // They come through a pipe from a program that the user has just started.
  // Otherwise commands in them are anybody's text, and verdicts have none.
  bool is_own = false;
};

// Parses `text`: either records, one per line, or one JSON object of metrics.
// Calls `warn` for each torn or broken line. InvalidArgument, with `name`, when
// it is neither.
absl::StatusOr<GateInput> ParseGateInput(
    const std::string& text, const std::string& name, RunStatistic statistic,
    const std::function<void(const std::string&)>& warn,
    const MetricChoice& metrics = DefaultMetricChoice());

// Reads a file, or standard input if `path` is `-`: records, metrics, or the
// results of another harness, which become rows.
absl::StatusOr<GateInput> ReadGateInput(
    const std::string& path, const ImportChoice& import, RunStatistic statistic,
    const std::function<void(const std::string&)>& warn,
    const MetricChoice& metrics);

}  // namespace feedrate
