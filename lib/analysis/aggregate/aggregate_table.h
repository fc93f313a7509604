// Tables of aggregates for people.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/analysis/aggregate/grid.h"

namespace feedrate {

// One result per unit, so that each table has one. Means and harness are in the
// last.
std::vector<AggregateResult> SplitByUnit(const AggregateResult& result);

// The same for groups of one suite: scenario, mode and scope, which are never
// compared with others, in the order of their first groups.
std::vector<AggregateResult> SplitBySuite(const AggregateResult& result);

// One row per group: fields that differ, and the statistics. The constant ones
// are in the caption. REQUIRES: one unit.
Grid PlainGrid(const AggregateResult& result,
               const std::vector<std::string>& by);

// One row per combination of the other fields, and one column per value of
// `pivot`. Cells are medians or, if there are speed-ups, ratios: one unit,
// which the caption names. REQUIRES: one unit. InvalidArgument if `pivot` is
// not in `by`; FailedPrecondition if the cells of a row would differ in a field
// that must not be mixed.
absl::StatusOr<Grid> PivotGrid(const AggregateResult& result,
                               const std::vector<std::string>& by,
                               const std::string& pivot);

}  // namespace feedrate
