// The program `aggregate` without its flags: sorted tables, markers of slow
// transforms, and how many more runs would separate close rivals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/rows/filter.h"
#include "lib/base/tool/exit_code.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/run_config.pb.h"
#include "lib/imports/imports.h"
#include "lib/records/job.pb.h"
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
  // its rows. `slow` if neither is known, no policy is found, or the reason
  // names another threshold than the policy's.
  std::string SlowMarker(const std::string& scenario, const std::string& unit,
                         const std::string& reason);

  // The program that measures these rows; `mode` if the policy does not say.
  std::string ProgramFor(const std::string& scenario, const std::string& mode);

 private:
  const Catalogue* Load();

  const std::string configs_folder_;
  bool tried_ = false;
  absl::optional<Catalogue> catalogue_;
};

// Two groups of a block that are neighbors by median, and that the data do not
// separate (lib/stats/winner.h).
struct CloseCall {
  const Aggregate* faster = nullptr;
  const Aggregate* slower = nullptr;
  // The first number of kRunLadder that should separate them. 0 if none does.
  int64_t runs = 0;
};

// REQUIRES: the aggregates have the field library in `by`.
std::vector<CloseCall> CloseCalls(const std::vector<Aggregate>& aggregates);

// The jobs that rows come from, and what became of their runs. `plan
// --existing` and every runner can read the jobs that it returns.
class JobsOfRows {
 public:
  static absl::StatusOr<JobsOfRows> Create(const std::string& where);

  void Add(const Row& row);
  // A run that comes before its rows. Jobs get from it what rows do not say.
  void AddRun(const Run& run);

  // The jobs of `calls` with the run indexes that are still missing. Each job
  // appears once, in the order of the calls. `by` are the fields of the groups.
  std::vector<Job> Missing(const std::vector<CloseCall>& calls,
                           const std::vector<std::string>& by) const;

  // The jobs with runs whose cleanest attempt is noisy, contended or throttled,
  // with only these runs, in the order of the rows.
  std::vector<Job> Disturbed() const;

 private:
  // The cleanest attempt at a run.
  struct KnownRun {
    int rank = 0;
    bool is_ok = false;
    bool is_disturbed = false;
  };
  struct Known {
    Row example;
    std::map<int32_t, KnownRun> runs;
    double duration_s = 0;
    int64_t rows = 0;
  };

  // The job with these runs, and what they should take.
  Job JobWithRuns(const Known& known, const std::vector<int32_t>& runs,
                  int of_runs) const;

  Filter filter_;
  // How runs were measured, by id.
  std::map<std::string, Execution> executions_;
  std::vector<Known> jobs_;
  // By job id.
  std::map<std::string, size_t> index_;
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
  // Folder with policy and matrix. Empty means search for it.
  std::string configs_folder;
  std::function<void(const std::string&)> warn;
};

struct AggregateAnswer {
  // What to print.
  std::string text;
  // kInvalid if there are no rows, or none match `where`; `warn` was told
  // which.
  ExitCode code = ExitCode::kDone;
};

absl::StatusOr<AggregateAnswer> RunAggregate(AggregateRun run);

}  // namespace feedrate
