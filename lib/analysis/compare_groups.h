// Groups held against each other: ranks, speed-ups, their means.
#ifndef FEEDRATE_LIB_ANALYSIS_COMPARE_GROUPS_H_
#define FEEDRATE_LIB_ANALYSIS_COMPARE_GROUPS_H_

#include <string>

#include "lib/analysis/aggregate_result.h"
#include "lib/analysis/query.h"
#include "lib/analysis/row_groups.h"

namespace feedrate {

// The groups as records, with ranks and, when asked for, speed-ups. Only groups
// that agree in everything but the library and its version are compared.
AggregateResult CompareGroups(const Query& query, const RowGroups& groups,
                              const AggregateOptions& options);

// What groups must share to be compared: the values of `by` and `held` but for
// library and library version. The same text for the same block.
std::string BlockOf(const Aggregate& aggregate);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COMPARE_GROUPS_H_
