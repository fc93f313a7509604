// Tables of aggregates, as text, Markdown, CSV, LaTeX or JSON.
#ifndef FEEDRATE_LIB_ANALYSIS_AGGREGATE_AGGREGATE_TABLE_H_
#define FEEDRATE_LIB_ANALYSIS_AGGREGATE_AGGREGATE_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/analysis/aggregate/aggregate.h"

namespace feedrate {

struct GridCell {
  std::string text;
  // It is the fastest, or its interval overlaps that of the fastest.
  bool best = false;
  bool right_aligned = false;
};

// The content of a table, independent of the output format.
struct Grid {
  std::vector<GridCell> header;
  std::vector<std::vector<GridCell>> rows;
  // Sentences shown below the table.
  std::vector<std::string> notes;
};

// One row per group: the fields of --by and the statistics.
Grid PlainGrid(const AggregateResult& result,
               const std::vector<std::string>& by);

// One row per combination of the other fields, and one column per value of
// `pivot`. Cells are medians, or ratios if there are speed-ups. InvalidArgument
// if `pivot` is not in `by`; FailedPrecondition if the cells of a row would
// differ in a field that must not be mixed.
absl::StatusOr<Grid> PivotGrid(const AggregateResult& result,
                               const std::vector<std::string>& by,
                               const std::string& pivot);

// Every number with all its digits, for programs.
Grid FullGrid(const AggregateResult& result,
              const std::vector<std::string>& by);

// A throughput for people, with about four digits.
std::string ShortNumber(double value);

// For a terminal. With `color`, the best cells are bold and green.
std::string RenderTable(const Grid& grid, bool color);
// The best cells are bold.
std::string RenderMarkdown(const Grid& grid);
// RFC 4180 with a header line and without notes.
std::string RenderCsv(const Grid& grid);
// A `tabular` with booktabs rules. Notes become comments above it.
std::string RenderLatex(const Grid& grid);
// All records as one JSON document, or one record per line.
std::string RenderJson(const AggregateResult& result);
std::string RenderJsonl(const AggregateResult& result);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_AGGREGATE_AGGREGATE_TABLE_H_
