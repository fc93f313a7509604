// What the program `aggregate` does, without its flags.
#ifndef FEEDRATE_LIB_ANALYSIS_RUN_AGGREGATE_H_
#define FEEDRATE_LIB_ANALYSIS_RUN_AGGREGATE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/analysis/aggregate.h"

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

// What to print. NotFound when no row is left.
absl::StatusOr<std::string> RunAggregate(AggregateRun run);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_RUN_AGGREGATE_H_
