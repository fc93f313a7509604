// The program `aggregate` without its flags: sorted tables, markers of slow
// transforms, and how many more runs would separate close rivals.
#ifndef FEEDRATE_LIB_ANALYSIS_AGGREGATE_RUN_AGGREGATE_H_
#define FEEDRATE_LIB_ANALYSIS_AGGREGATE_RUN_AGGREGATE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/analysis/aggregate/aggregate.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/filter.h"
#include "lib/base/tool/exit_code.h"
#include "lib/catalogue/catalogue.h"
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

// What tables show for a transform that was too slow to measure: the policy's
// marker, such as `<=20 img/s`. Reads the catalogue on first use, since most
// tables need no marker. Not thread-safe.
class SlowMarkers {
 public:
  // `configs_folder` is the value of --configs; empty means search for it.
  explicit SlowMarkers(std::string configs_folder)
      : configs_folder_(std::move(configs_folder)) {}

  // The marker for the scenario's media, or else for the unit of its rows.
  // `slow` if neither is known or no policy is found.
  std::string For(const std::string& scenario, const std::string& unit);

 private:
  const std::string configs_folder_;
  bool tried_ = false;
  absl::optional<Catalogue> catalogue_;
};

// Numbers of runs that the paper tops up to: 3 is the least for an interval, 5
// gives a usable one, and 10 and 20 are for close calls.
inline constexpr int64_t kRunLadder[] = {3, 5, 10, 20};

// Two groups of a block that are neighbors by median and whose intervals
// overlap. A group with too few runs for an interval is assumed to have the
// largest spread that is not called unstable, 15%: with one run each, rivals
// that differ by more than a factor of two are no close call.
struct CloseCall {
  const Aggregate* faster = nullptr;
  const Aggregate* slower = nullptr;
  // The first number of kRunLadder that should separate them. 0 if none does.
  int64_t runs = 0;
};

// REQUIRES: the aggregates have the field library in `by`. Assumes that the
// interval of n runs is as wide as it is on average for the group's deviation.
std::vector<CloseCall> CloseCalls(const std::vector<Aggregate>& aggregates);

// The jobs that the rows of each group come from, and which of their runs are
// done.
class JobsOfGroups {
 public:
  static absl::StatusOr<JobsOfGroups> Create(const std::vector<std::string>& by,
                                             const std::string& where);

  void Add(const Row& row);

  // The jobs of `calls` with the run indexes that are still missing. Each job
  // appears once, in the order of the calls. `plan --existing` and every runner
  // can read them.
  std::vector<Job> Missing(const std::vector<CloseCall>& calls) const;

 private:
  struct Known {
    Job job;
    std::set<int32_t> done;
    double duration_s = 0;
    int64_t rows = 0;
  };

  std::vector<Field> by_;
  Filter filter_;
  // Keyed by group, then by job id.
  std::map<std::string, std::map<std::string, Known>> groups_;
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
  // `albumentations` reads .json files as results of the public benchmark.
  std::string import;
  // Prints the jobs that would separate close calls instead of the table.
  bool runs_needed = false;
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

#endif  // FEEDRATE_LIB_ANALYSIS_AGGREGATE_RUN_AGGREGATE_H_
