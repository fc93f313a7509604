// What a sweep over settings of a loader says, for a person.
#ifndef FEEDRATE_LIB_RUNNER_SWEEP_SUMMARY_H_
#define FEEDRATE_LIB_RUNNER_SWEEP_SUMMARY_H_

#include <string>
#include <vector>

#include "lib/records/records.pb.h"

namespace feedrate {

// For each loader and recipe whose rows differ in their settings: the best
// setting, the smallest within 3% of it (fewest workers, then the least memory
// in batches), what each worker adds, and what to use, in a sentence. Empty
// when nothing was swept. Of a setting with several runs the median counts.
std::string SweepSummary(const std::vector<Row>& rows);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_SWEEP_SUMMARY_H_
