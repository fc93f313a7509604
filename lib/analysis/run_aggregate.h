// What the program `aggregate` does, without its flags.
#ifndef FEEDRATE_LIB_ANALYSIS_RUN_AGGREGATE_H_
#define FEEDRATE_LIB_ANALYSIS_RUN_AGGREGATE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/aggregate.h"
#include "lib/base/exit_code.h"

namespace feedrate {

struct AggregateRun {
  // Files, folders, `-`.
  std::vector<std::string> paths;
  AggregateOptions options;
  // `table`, `markdown`, `csv`, `latex`, `json` or `jsonl`.
  std::string format = "table";
  std::string pivot;
  std::vector<std::string> sort;
  bool colour = false;
  // `albumentations`: .json files are results of the public benchmark.
  std::string import;
  // Jobs that would separate close calls, in place of the table.
  bool runs_needed = false;
  // Folder with policy and matrix. Empty: found.
  std::string configs_folder;
  std::function<void(const std::string&)> warn;
};

struct AggregateAnswer {
  // What to print.
  std::string text;
  // kInvalid: there is no row, or `where` leaves none; `warn` was told which.
  ExitCode code = ExitCode::kDone;
};

absl::StatusOr<AggregateAnswer> RunAggregate(AggregateRun run);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_RUN_AGGREGATE_H_
