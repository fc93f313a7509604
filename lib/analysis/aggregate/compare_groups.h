// Turns groups of rows into records, and decides which of them are faster.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/aggregate/row_groups.h"
#include "lib/analysis/rows/row_log.h"
#include "lib/records/summary.pb.h"
#include "lib/stats/summary.h"
#include "lib/stats/winner.h"

namespace feedrate {

struct AggregateOptions {
  // Fields to group by. See lib/analysis/rows/fields.h.
  std::vector<std::string> by = {"scenario", "mode",      "scope",
                                 "library",  "transform", "device"};
  // Adds fields of the work (lib/analysis/rows/row_log.h) to `by` in which rows
  // of a group differ, instead of refusing them.
  bool split = false;
  // The numeric field that statistics are of. Only `throughput` has ranks and
  // speed-ups.
  std::string metric = "throughput";
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
  // Returns the text for early-stopped rows of a scenario and unit: each needed
  // at least `slow_from_s` per item, which is infinite in rows that do not say.
  // Null means `slow`.
  std::function<std::string(const std::string& scenario,
                            const std::string& unit, double slow_from_s)>
      slow_marker;
  // Number of reading threads. 0 means one per processor.
  int threads = 0;
  // Called with each problem in a file, as one line with its place. May be
  // null.
  std::function<void(const std::string&)> complain;
};

struct AggregateResult {
  // The fields of the groups: AggregateOptions::by, and those that `split`
  // added.
  std::vector<std::string> by;
  // Sorted by the values of the `by` fields, in their order; numbers by size.
  std::vector<Aggregate> aggregates;
  // Groups of the library `null`, which measure the harness. They are among
  // `aggregates` only if there are no others.
  std::vector<Aggregate> harness;
  std::vector<MeanSpeedUp> means;
  // Number of rows read, and of those that match `where`.
  int64_t rows = 0;
  int64_t used = 0;
  // Rows that repeat a (job, run, attempt) of another row.
  int64_t duplicates = 0;
  // See RecordReader in lib/records/record_io.h.
  int64_t broken_lines = 0;
  int64_t refused_records = 0;
};

// What the comparison rule needs to know of a group.
Contestant ContestantOf(const Aggregate& aggregate);

// Whether rivals may differ in this field: the library, its version, and how
// its output compares.
bool MayRivalsDiffer(const std::string& field);

// Identifies the block of groups that can be compared with each other: they
// share the values of `by` and `held` except those in which rivals may differ.
// Equal for groups of the same block.
std::string BlockOf(const Aggregate& aggregate);

// Turns groups into records, with ranks and, if requested, speed-ups. Compares
// only groups that agree in everything except the library and its version.
// InvalidArgument if no group is of the library that speed-ups are relative to.
absl::StatusOr<AggregateResult> CompareGroups(const Query& query,
                                              const RowGroups& groups,
                                              const AggregateOptions& options);

}  // namespace feedrate
