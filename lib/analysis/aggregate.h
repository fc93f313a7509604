// Rows to statistics: what the program `aggregate` does, without its flags.
#ifndef FEEDRATE_LIB_ANALYSIS_AGGREGATE_H_
#define FEEDRATE_LIB_ANALYSIS_AGGREGATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/records/records.pb.h"

namespace feedrate {

struct AggregateOptions {
  // Fields that tell groups apart, as in lib/analysis/field.h.
  std::vector<std::string> by = {"scenario", "mode",      "scope",
                                 "library",  "transform", "device"};
  // Rows to use, as in lib/analysis/filter.h. Empty: all.
  std::string where;
  // Fields of HeldFields() that a group may hold several values of.
  std::vector<std::string> mix;
  // Reference of speed-ups. Empty: none.
  std::string relative_to;
  // Speed-ups also between rows that are not known to do the same work.
  bool any_work = false;
  // Standard deviation over mean above which a group is `unstable`.
  double unstable_cv = 0.15;
  // The text for early-stopped rows of a scenario and unit. Null: `slow`.
  std::function<std::string(const std::string& scenario,
                            const std::string& unit)>
      slow_marker;
  // Threads that read. 0: as many as there are processors.
  int threads = 0;
  // Gets each problem of a file as one line, place included. Null: nobody.
  std::function<void(const std::string&)> complain;
};

// Fields whose values a group must not mix, unless `mix` has them.
const std::vector<std::string>& HeldFields();

struct AggregateResult {
  // Sorted by the values of `by`, in their order; numbers as numbers.
  std::vector<Aggregate> aggregates;
  std::vector<MeanSpeedUp> means;
  // Rows read, and those that `where` let through.
  int64_t rows = 0;
  int64_t used = 0;
  // Rows that repeat a (job, run, attempt) of another row.
  int64_t duplicates = 0;
  int64_t broken_lines = 0;
};

// Gathers rows, then turns them into statistics once. Rows may come from files
// and from memory, in any order: the result is the same to the bit. Keeps 24
// bytes for each row and the text of each group. Not thread-safe.
class RowAggregator {
 public:
  // InvalidArgument when a field or the filter is wrong.
  static absl::StatusOr<std::unique_ptr<RowAggregator>> Create(
      AggregateOptions options);
  virtual ~RowAggregator() = default;

  // Reads files, all .jsonl files below folders, and standard input (`-`).
  virtual absl::Status ReadPaths(const std::vector<std::string>& paths) = 0;
  virtual absl::Status Add(const Row& row) = 0;

  // To be called once. FailedPrecondition, naming the field, when a group
  // would mix what must not be mixed.
  virtual absl::StatusOr<AggregateResult> Finish() = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_AGGREGATE_H_
