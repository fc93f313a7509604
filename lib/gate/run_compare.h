// The modes of compare_baseline, from input to exit code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/tool/exit_code.h"
#include "lib/gate/gate_metrics.h"
#include "lib/gate/paired_rows.h"
#include "lib/gate/verdict/verdicts.h"
#include "lib/imports/imports.h"

namespace feedrate {

// The flags of the same names; see compare_baseline --help.
struct CompareOptions {
  std::string current = "-";
  std::string eval;
  std::string baselines;
  std::string baseline;
  ImportChoice import;
  bool paired = false;
  double interest_percent = 2;
  double max_cannot_tell_percent = 5;
  double min_compared_percent = kMinComparedPercent;
  RunStatistic statistic = RunStatistic::kTypical;
  MetricChoice metrics = DefaultMetricChoice();
  // A flag that was given and is for paired rows alone, such as --metrics.
  std::string pairs_flag;
  std::string tolerances;
  bool with_tails = false;
  bool any_version = false;
  bool require_all = false;
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

// Writes a file, or standard output if `path` is `-`.
absl::Status WriteOutput(const std::string& path, const std::string& text);

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
