// The modes of compare_baseline, from input to exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/base/tool/exit_code.h"
#include "lib/gate/baselines.h"
#include "lib/gate/gate_metrics.h"
#include "lib/gate/paired_rows.h"
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
  // Reference speeds of the machines.
  std::vector<ReferenceSpeeds> references;
  // Command lines of the runners, by run_id.
  std::map<std::string, std::vector<std::string>> commands;
  absl::optional<MetricsFile> metrics;
  // The text of the metrics file.
  std::string metrics_text;
  // Where the commands of the duel spend their time.
  std::vector<Profile> profiles;
  // Verdicts on jobs, to be printed in another format.
  std::vector<Verdict> verdicts;
  // The rows are results of another harness.
  bool is_imported = false;
};

// Parses `text`: either records, one per line, or one JSON object of metrics.
// Calls `warn` for each torn or broken line. InvalidArgument, with `name`, when
// it is neither.
absl::StatusOr<GateInput> ParseGateInput(
    const std::string& text, const std::string& name, RunStatistic statistic,
    const std::function<void(const std::string&)>& warn,
    const MetricChoice& metrics = DefaultMetricChoice());

// The flags of the same names; see compare_baseline --help.
struct CompareOptions {
  std::string current = "-";
  std::string eval;
  std::string baselines;
  std::string baseline;
  std::string import;
  bool paired = false;
  double interest_percent = 2;
  double max_cannot_tell_percent = 5;
  RunStatistic statistic = RunStatistic::kTypical;
  MetricChoice metrics = DefaultMetricChoice();
  std::string tolerances;
  bool with_tails = false;
  bool any_version = false;
  bool require_all = false;
  bool across_machines = false;
  // One of VerdictFormats. `jsonl` means records, every other one text.
  std::string format = "jsonl";
  std::string explain;
  std::string maintainer_reason;
  std::string output = "-";
  int limit = 20;
  std::string configs_folder;
  std::vector<std::string> history;
  std::string calibrate_command;
  std::string calibrate_name;
  std::string calibrate_timing = "auto";
  int calibrate_duels = 10;
  int calibrate_max_pairs = 30;
  int64_t calibrate_seed = 1;
  std::vector<double> calibrate_slowdowns;
  // Called with each problem as one line of text for people.
  std::function<void(const std::string&)> warn;
};

const std::vector<std::string>& VerdictFormats();

// Judges and writes verdicts, or explains one.
absl::StatusOr<ExitCode> RunCompare(const CompareOptions& options);
// Replaces baselines by the input.
absl::StatusOr<ExitCode> RunUpdate(const CompareOptions& options);
// Measures which changes can be detected on this machine and stores the result
// next to the baselines.
absl::StatusOr<ExitCode> RunCalibrate(const CompareOptions& options);
// Finds change points. Exit code 3 when a slowdown still persists.
absl::StatusOr<ExitCode> RunHistory(const CompareOptions& options);

}  // namespace feedrate
