// The program `aggregate` without its flags: sorted tables, and markers of slow
// transforms.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/base/tool/exit_code.h"
#include "lib/catalogue/catalogue.h"
#include "lib/imports/imports.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"

namespace feedrate {

// Sorts by `keys`, most significant first: fields of `by`, or runs, median,
// mean, sd, cv, min, max, rank, ratio. A leading `-` reverses the order.
// Aggregates without the number come last in either order. The sort is stable.
// InvalidArgument for any other key.
absl::Status SortAggregates(const std::vector<std::string>& keys,
                            const std::vector<std::string>& by,
                            std::vector<Aggregate>* aggregates);

// What the policy says about rows. Reads the catalogue on first use, since most
// tables need none. Not thread-safe.
class Policies {
 public:
  // `configs_folder` is the value of --configs; empty means search for it.
  explicit Policies(std::string configs_folder)
      : configs_folder_(std::move(configs_folder)) {}

  // What tables show for a transform that was too slow to measure, such as
  // `<=20 img/s`: the marker for the scenario's media, or else for the unit of
  // its rows. `slow` if neither is known, no policy is found, or its rows need
  // not have reached the policy's threshold.
  std::string SlowMarker(const std::string& scenario, const std::string& unit,
                         double slow_from_s);

  // The program that measures these rows; `mode` if the policy does not say.
  std::string ProgramFor(const std::string& scenario, const std::string& mode);

 private:
  const Catalogue* Load();

  const std::string configs_folder_;
  bool tried_ = false;
  absl::optional<Catalogue> catalogue_;
};

struct AggregateRun {
  // Files, folders, or `-` for standard input.
  std::vector<std::string> paths;
  AggregateOptions options;
  // `table`, `markdown`, `csv`, `latex`, `json` or `jsonl`.
  std::string format = "table";
  std::string pivot;
  std::vector<std::string> sort;
  bool color = false;
  // What wrote the results among `paths`.
  ImportChoice import;
  // Prints the jobs that would separate close calls instead of the table.
  bool runs_needed = false;
  // Prints the jobs of the disturbed runs instead of the table.
  bool rerun_noisy = false;
  // Prints the jobs to repeat these rows instead of the table: all, or those
  // that `again` selects by id or label.
  bool repeats = false;
  std::string again;
  // Also says where medians of other executions lie.
  bool elsewhere = false;
  // Folder with policy and matrix. Empty means search for it.
  std::string configs_folder;
  std::function<void(const std::string&)> warn;
};

struct AggregateAnswer {
  // What to print.
  std::string text;
  // kCallersMistake if records are refused; `text` is made of the others.
  // kInvalid if there are no rows, or none match `where`; `warn` was told
  // which.
  ExitCode code = ExitCode::kDone;
};

absl::StatusOr<AggregateAnswer> RunAggregate(AggregateRun run);

}  // namespace feedrate
