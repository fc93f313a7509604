// Turns rows into statistics per group.
#ifndef FEEDRATE_LIB_ANALYSIS_AGGREGATE_AGGREGATE_H_
#define FEEDRATE_LIB_ANALYSIS_AGGREGATE_AGGREGATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/records/row.pb.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/summary.h"

namespace feedrate {

struct AggregateOptions {
  // Fields to group by. See lib/analysis/rows/fields.h.
  std::vector<std::string> by = {"scenario", "mode",      "scope",
                                 "library",  "transform", "device"};
  // Filter for rows. See lib/analysis/rows/filter.h. Empty means all rows.
  std::string where;
  // Fields of HeldFields() (lib/analysis/rows/row_log.h) that may nevertheless
  // differ within a group.
  std::vector<std::string> mix;
  // Library that speed-ups are relative to. Empty means no speed-ups.
  std::string relative_to;
  // Also computes speed-ups between rows that are not known to do the same
  // work.
  bool any_work = false;
  // A group with a larger ratio of standard deviation to mean is `unstable`.
  double unstable_cv = kUnstableCv;
  // Returns the text for early-stopped rows of a scenario and unit. Null means
  // `slow`.
  std::function<std::string(const std::string& scenario,
                            const std::string& unit)>
      slow_marker;
  // Number of reading threads. 0 means one per processor.
  int threads = 0;
  // Called with each problem in a file, as one line with its place. May be
  // null.
  std::function<void(const std::string&)> complain;
};

struct AggregateResult {
  // Sorted by the values of the `by` fields, in their order; numbers by size.
  std::vector<Aggregate> aggregates;
  std::vector<MeanSpeedUp> means;
  // Number of rows read, and of those that match `where`.
  int64_t rows = 0;
  int64_t used = 0;
  // Rows that repeat a (job, run, attempt) of another row.
  int64_t duplicates = 0;
  int64_t broken_lines = 0;
};

// Identifies the block of groups that can be compared with each other: they
// share the values of `by` and `held` except the library and its version. Equal
// for groups of the same block.
std::string BlockOf(const Aggregate& aggregate);

// Collects rows, then turns them into statistics once. Rows may come from files
// and from memory. Their order does not change a single bit of the result.
// Keeps 24 bytes per row and the text of each group. Not thread-safe.
class RowAggregator {
 public:
  // InvalidArgument if a field or the filter is wrong.
  static absl::StatusOr<std::unique_ptr<RowAggregator>> Create(
      AggregateOptions options);
  virtual ~RowAggregator() = default;

  // Reads files, all .jsonl files below folders, and standard input (`-`).
  virtual absl::Status ReadPaths(const std::vector<std::string>& paths) = 0;
  virtual absl::Status Add(const Row& row) = 0;

  // Must be called only once. FailedPrecondition, naming the field, if a group
  // would mix values that must not be mixed.
  virtual absl::StatusOr<AggregateResult> Finish() = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_AGGREGATE_AGGREGATE_H_
