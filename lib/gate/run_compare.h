// compare_baseline: what its flags ask for, from input to exit code.
#ifndef FEEDRATE_LIB_GATE_RUN_COMPARE_H_
#define FEEDRATE_LIB_GATE_RUN_COMPARE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/exit_code.h"
#include "lib/gate/run_time.h"

namespace feedrate {

// The flags of the same names; see compare_baseline --help.
struct CompareOptions {
  std::string current = "-";
  std::string eval;
  std::string baselines;
  bool paired = false;
  double interest_percent = 2;
  double max_cannot_tell_percent = 5;
  RunStatistic statistic = RunStatistic::kTypical;
  std::string tolerances;
  bool with_tails = false;
  // One of VerdictFormats.
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
  // Gets each problem as one line for a person.
  std::function<void(const std::string&)> warn;
};

const std::vector<std::string>& VerdictFormats();

// Judges and writes verdicts, or explains one.
absl::StatusOr<ExitCode> RunCompare(const CompareOptions& options);
// Replaces baselines by what is given.
absl::StatusOr<ExitCode> RunUpdate(const CompareOptions& options);
// Measures what can be seen here and stores it beside the baselines.
absl::StatusOr<ExitCode> RunCalibrate(const CompareOptions& options);
// Finds change points. Exit 3 when a slowdown is still there.
absl::StatusOr<ExitCode> RunHistory(const CompareOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_RUN_COMPARE_H_
