// Combines the row logs of several threads into the groups that the user asked
// for.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/rows/fields.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/base/threads.h"
#include "lib/stats/quantiles.h"
#include "lib/stats/summary.h"

namespace feedrate {

// Calls `work(i)` once for each i below `count`, in no particular order, from
// up to `threads` threads, including the caller's. Returns when all calls are
// done.
template <typename Work>
void ForEachInParallel(size_t threads, size_t count, const Work& work) {
  std::atomic<size_t> next{0};
  const auto run = [&](int64_t) {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> helpers =
      StartThreads(static_cast<int64_t>(std::min(threads, count)) - 1, run);
  run(0);
  for (std::thread& helper : helpers) helper.join();
}

// The rows that agree in the fields of --by. Only the cleanest attempt at each
// run counts.
struct RowGroup {
  // Values of RowGroups::by, in their order.
  std::vector<Value> by;
  // For each held field of the query, the value that all rows share.
  std::vector<Value> held;
  std::string scenario;
  std::string unit;
  // Covers the `ok` rows that have a value; n is 0 without any.
  Summary summary;
  // Runs of `library` null, which measure the harness. They are grouped apart,
  // and need not agree in the held fields.
  bool is_harness = false;
  // Number of runs that are not `ok`, by status and reason.
  std::map<std::pair<std::string, std::string>, int64_t> ended;
  // The least of the thresholds at which its runs stopped early, infinite if
  // none says. Absent if none stopped early.
  std::optional<double> slow_from_s;
  std::set<std::string> equivalence;
  // Labels that qualify the speed of some of its rows.
  std::set<std::string> labels;
  int64_t retries = 0;
  // Number of runs in `summary` that were noisy, contended or throttled, and
  // the number of those with each of these warnings.
  int64_t disturbed = 0;
  std::map<std::string, int64_t> disturbances;
  // Number of runs whose last attempt was less clean than the one that counts,
  // by the attempt that counts and the last.
  std::map<std::pair<int, int>, int64_t> earlier_attempts;
  // The values of each field of --mix that the group pools.
  std::map<std::string, std::set<std::string>> pooled;
  // Raw timings of all `ok` rows, and the number of rows that have them.
  SampleQuantiles samples;
  int64_t rows_with_samples = 0;
};

struct RowGroups {
  // Indexes into Query::fields: those of --by, then those added by `split`.
  std::vector<size_t> by;
  // Sorted by `by`.
  std::vector<RowGroup> groups;
  int64_t rows = 0;
  // Number of rows that match the filter, including replaced attempts.
  int64_t used = 0;
  // Number of rows that repeat an attempt.
  int64_t duplicates = 0;
};

// FailedPrecondition if the rows of a group differ in a held field. With
// `split`, a field of the work in which rows of a group differ is added to `by`
// instead. Frees the logs as it goes, so that memory does not double. Computes
// with `threads` threads.
absl::StatusOr<RowGroups> GroupRows(const Query& query,
                                    std::vector<std::unique_ptr<RowLog>> logs,
                                    int threads, bool split);

}  // namespace feedrate
