// Turns rows into statistics per group.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/records/row.pb.h"

namespace feedrate {

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
