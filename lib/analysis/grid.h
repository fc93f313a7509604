// A table of aggregates before it takes a form.
#ifndef FEEDRATE_LIB_ANALYSIS_GRID_H_
#define FEEDRATE_LIB_ANALYSIS_GRID_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/aggregate_result.h"

namespace feedrate {

struct GridCell {
  std::string text;
  // The fastest of its kind, or as fast as far as the intervals tell.
  bool best = false;
  bool right_aligned = false;
};

struct Grid {
  std::vector<GridCell> header;
  std::vector<std::vector<GridCell>> rows;
  // Sentences below it.
  std::vector<std::string> notes;
};

// One row for each group: the fields of --by and the statistics.
Grid PlainGrid(const AggregateResult& result,
               const std::vector<std::string>& by);

// One row for each combination of the other fields, one column for each value
// of `pivot`: medians, or ratios when there are speed-ups. InvalidArgument when
// `pivot` is not in `by`; FailedPrecondition when a row would have cells that
// differ in what must not be mixed.
absl::StatusOr<Grid> PivotGrid(const AggregateResult& result,
                               const std::vector<std::string>& by,
                               const std::string& pivot);

// Every number in full, for programs.
Grid FullGrid(const AggregateResult& result,
              const std::vector<std::string>& by);

// A throughput for people: four digits or so.
std::string ShortNumber(double value);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_GRID_H_
