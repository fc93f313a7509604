// A `coverage` record for people.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_TEXT_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_TEXT_H_

#include <string>

#include "lib/records/records.pb.h"

namespace feedrate {

// `full-paper: incomplete: 1234 of 1240 jobs, …`: all in one line.
std::string CoverageSummary(const Coverage& coverage);

// The summary, how each library stands, and the findings with their remedies:
// of each kind the first `limit`, all of them when it is 0.
std::string CoverageText(const Coverage& coverage, int limit);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_TEXT_H_
