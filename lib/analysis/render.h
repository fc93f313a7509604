// A grid as text, Markdown, CSV or LaTeX.
#ifndef FEEDRATE_LIB_ANALYSIS_RENDER_H_
#define FEEDRATE_LIB_ANALYSIS_RENDER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "lib/analysis/aggregate_result.h"
#include "lib/analysis/grid.h"

namespace feedrate {

// For a terminal. `colour`: the best in bold and green.
std::string RenderTable(const Grid& grid, bool colour);
// The best in bold.
std::string RenderMarkdown(const Grid& grid);
// RFC 4180 with a header; no notes.
std::string RenderCsv(const Grid& grid);
// A `tabular` with the rules of booktabs; notes as comments above it.
std::string RenderLatex(const Grid& grid);
// All records in one JSON document, and the same a record a line.
std::string RenderJson(const AggregateResult& result);
std::string RenderJsonl(const AggregateResult& result);

// `text` such that LaTeX prints it as it is.
std::string EscapeLatex(absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_RENDER_H_
