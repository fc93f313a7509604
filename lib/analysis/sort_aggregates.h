// The order of a table's rows.
#ifndef FEEDRATE_LIB_ANALYSIS_SORT_AGGREGATES_H_
#define FEEDRATE_LIB_ANALYSIS_SORT_AGGREGATES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Sorts by `keys`, the first one first: fields of `by`, or runs, median, mean,
// sd, cv, min, max, rank, ratio. A leading `-` turns the order round. What has
// no number comes last either way; equal ones stay in order. InvalidArgument
// for a key that is neither.
absl::Status SortAggregates(const std::vector<std::string>& keys,
                            const std::vector<std::string>& by,
                            std::vector<Aggregate>* aggregates);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_SORT_AGGREGATES_H_
