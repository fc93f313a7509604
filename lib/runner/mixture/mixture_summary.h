// What the settings of a mixture's sweep differ by, for a person.
#ifndef FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_SUMMARY_H_
#define FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_SUMMARY_H_

#include <string>
#include <vector>

#include "lib/records/records.pb.h"

namespace feedrate {

// A line for each setting of each library: samples a second, and how it
// compares with the first setting, run by run, with the 95% interval of the
// median ratio. Says so where runs are too few for one: then nothing was shown.
// Empty when there is nothing to compare.
//
// `job_ids` has the order of the settings. That of the rows is shuffled, so it
// could not tell which one is the first.
std::string MixtureSummary(const std::vector<Row>& rows,
                           const std::vector<std::string>& job_ids);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_MIXTURE_MIXTURE_SUMMARY_H_
