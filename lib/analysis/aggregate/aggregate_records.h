// Aggregates for programs: all numbers in full, as CSV or JSON.
#pragma once

#include <string>
#include <vector>

#include "lib/analysis/aggregate/compare_groups.h"
#include "lib/analysis/aggregate/grid.h"

namespace feedrate {

// The runs that are not `ok`, such as `1 oom: more than 2 GB`.
std::string EndedText(const Aggregate& aggregate);

// Every number with all its digits, for programs.
Grid FullGrid(const AggregateResult& result,
              const std::vector<std::string>& by);

// All records as one JSON document, or one record per line.
std::string RenderJson(const AggregateResult& result);
std::string RenderJsonl(const AggregateResult& result);

}  // namespace feedrate
