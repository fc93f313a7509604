// Logs of several threads into the groups that were asked for.
#ifndef FEEDRATE_LIB_ANALYSIS_ROW_GROUPS_H_
#define FEEDRATE_LIB_ANALYSIS_ROW_GROUPS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_log.h"
#include "lib/analysis/value.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {

// Rows that agree in the fields of --by; only the last attempt at each run.
struct RowGroup {
  // Values of --by, in its order.
  std::vector<Value> by;
  // For each held field of the query the value that all rows share.
  std::vector<Value> held;
  std::string scenario;
  std::string unit;
  // Of `ok` rows. n = 0: there is none.
  Summary summary;
  // Runs that are not `ok`, by status and reason.
  std::map<std::pair<std::string, std::string>, int64_t> ended;
  std::set<std::string> equivalence;
  int64_t retries = 0;
  // Raw timings of all `ok` rows, and how many rows have them.
  SampleQuantiles samples;
  int64_t rows_with_samples = 0;
};

struct RowGroups {
  // Sorted by `by`.
  std::vector<RowGroup> groups;
  int64_t rows = 0;
  // Rows that the filter lets through, last attempts or not.
  int64_t used = 0;
  // Rows that repeat an attempt.
  int64_t duplicates = 0;
};

// FailedPrecondition when the rows of a group differ in a held field. Empties
// the logs as it goes, so that memory does not double. `threads` share the
// arithmetic.
absl::StatusOr<RowGroups> GroupRows(const Query& query,
                                    std::vector<std::unique_ptr<RowLog>> logs,
                                    int threads);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_ROW_GROUPS_H_
