// The expression language of claims and targets: computes numbers from rows.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/records/row.pb.h"

namespace feedrate {

// Computes `expression` over `rows`:
//
//   median(FIELD, CONDITION…)         over rows; also mean, min, max, sum
//   count(CONDITION…)                 number of rows
//   distinct(FIELD, CONDITION…)       number of different values
//   ratio(FIELD, A, B, CONDITION…)    median where A / median where B
//   percent(FIELD, A, B, CONDITION…)  100 * (ratio - 1)
//   max_quotient(FIELD, FIELD, CONDITION…)  largest quotient within one row
//   share(A, CONDITION…)              100 * rows where A / rows
//   mfu(FLOPS_PER_ITEM, PEAK_FLOPS_PER_S, CONDITION…)
//                                     100 * median throughput * flops / peak
//
// combined with + - * / and parentheses, and with plain numbers. A CONDITION is
// a filter (see lib/analysis/rows/filter.h); if there are several, all must
// hold. Only rows of status `ok` count, unless a condition mentions `status`,
// and not those of the harness (`null`), unless one mentions `library`.
//
// A ratio compares cells that agree in everything that A and B do not mention:
// the same transform on the same machine with the same settings. For several
// such pairs, it is the geometric mean of their ratios.
//
// InvalidArgument, with the column, if the expression is wrong. NotFound if the
// rows have nothing to compute it from.
absl::StatusOr<double> Evaluate(absl::string_view expression,
                                const std::vector<Row>& rows);

}  // namespace feedrate
