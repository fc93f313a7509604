// Rows that are too good to be true beside each other.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_PLAUSIBLE_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_PLAUSIBLE_H_

#include "lib/analysis/coverage_findings.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/row_book.h"
#include "lib/catalogue/catalogue.h"

namespace feedrate {

// Runs with the same throughput to the last bit: measured once, copied once.
// Where there are so many rows that chance makes equal ones, elapsed time and
// samples must be equal too. See CoveragePolicy.
void FindIdentical(const PlannedJobs& jobs, const RowBook& book,
                   const Catalogue& catalogue, CoverageFindings* findings);

// Clips that are faster than images of the same library, transform, mode,
// scope and device by more than the policy believes.
void FindFastVideo(const PlannedJobs& jobs, const RowBook& book,
                   const Catalogue& catalogue, CoverageFindings* findings);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_PLAUSIBLE_H_
