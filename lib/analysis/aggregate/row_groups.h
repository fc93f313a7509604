// Combines the row logs of several threads into the groups that the user asked
// for.
#ifndef FEEDRATE_LIB_ANALYSIS_AGGREGATE_ROW_GROUPS_H_
#define FEEDRATE_LIB_ANALYSIS_AGGREGATE_ROW_GROUPS_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {

// Calls `work(i)` once for each i below `count`, in no particular order, from
// up to `threads` threads, including the caller's. Returns when all calls are
// done.
template <typename Work>
void ForEachInParallel(size_t threads, size_t count, const Work& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < std::min(threads, count); ++i) {
    helpers.emplace_back(run);
  }
  run();
  for (std::thread& helper : helpers) helper.join();
}

// The rows that agree in the fields of --by. Only the last attempt at each run
// counts.
struct RowGroup {
  // Values of the --by fields, in their order.
  std::vector<Value> by;
  // For each held field of the query, the value that all rows share.
  std::vector<Value> held;
  std::string scenario;
  std::string unit;
  // Of the `ok` rows. n is 0 if there are none.
  Summary summary;
  // Number of runs that are not `ok`, by status and reason.
  std::map<std::pair<std::string, std::string>, int64_t> ended;
  std::set<std::string> equivalence;
  int64_t retries = 0;
  // Raw timings of all `ok` rows, and the number of rows that have them.
  SampleQuantiles samples;
  int64_t rows_with_samples = 0;
};

struct RowGroups {
  // Sorted by `by`.
  std::vector<RowGroup> groups;
  int64_t rows = 0;
  // Number of rows that match the filter, including replaced attempts.
  int64_t used = 0;
  // Number of rows that repeat an attempt.
  int64_t duplicates = 0;
};

// FailedPrecondition if the rows of a group differ in a held field. Frees the
// logs as it goes, so that memory does not double. Computes with `threads`
// threads.
absl::StatusOr<RowGroups> GroupRows(const Query& query,
                                    std::vector<std::unique_ptr<RowLog>> logs,
                                    int threads);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_AGGREGATE_ROW_GROUPS_H_
