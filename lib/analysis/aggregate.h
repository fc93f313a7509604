// Rows to statistics.
#ifndef FEEDRATE_LIB_ANALYSIS_AGGREGATE_H_
#define FEEDRATE_LIB_ANALYSIS_AGGREGATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/analysis/aggregate_result.h"
#include "lib/records/records.pb.h"

namespace feedrate {

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
