// Numbers that follow from rows: the language of claims and targets.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_EXPRESSION_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_EXPRESSION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Computes `expression` over `rows`:
//
//   median(FIELD, CONDITION…)         also mean, min, max, sum: over rows
//   count(CONDITION…)                 rows
//   distinct(FIELD, CONDITION…)       different values
//   ratio(FIELD, A, B, CONDITION…)    median where A over median where B
//   percent(FIELD, A, B, CONDITION…)  100 * (ratio - 1)
//   max_quotient(FIELD, FIELD, CONDITION…)  largest within one row
//   share(A, CONDITION…)              100 * rows where A / rows
//   mfu(FLOPS_PER_ITEM, PEAK_FLOPS_PER_S, CONDITION…)
//                                     100 * median throughput * flops / peak
//
// joined by + - * / and brackets, with plain numbers. A CONDITION is a filter
// as in lib/analysis/filter.h; several hold together. Only rows of status `ok`
// count, unless a condition speaks of `status`.
//
// A ratio is taken between cells that are alike in everything that A and B do
// not speak of: the same transform on the same machine with the same settings.
// Over several such pairs it is the geometric mean.
//
// InvalidArgument, with the column, when the expression is wrong. NotFound
// when it is right and the rows have nothing to compute it from.
absl::StatusOr<double> Evaluate(absl::string_view expression,
                                const std::vector<Row>& rows);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_EXPRESSION_H_
