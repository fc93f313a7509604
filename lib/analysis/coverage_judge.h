// Rows against jobs: what is missing, wrong, or too good to be true.
#ifndef FEEDRATE_LIB_ANALYSIS_COVERAGE_JUDGE_H_
#define FEEDRATE_LIB_ANALYSIS_COVERAGE_JUDGE_H_

#include "lib/analysis/coverage_findings.h"
#include "lib/analysis/planned_jobs.h"
#include "lib/analysis/row_book.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// Adds every finding about jobs and rows to `findings`, and counts and groups
// to `record`. The answer does not depend on the order in which rows came,
// only the places in it do.
void JudgeCoverage(const PlannedJobs& jobs, const RowBook& book,
                   const Catalogue& catalogue, CoverageFindings* findings,
                   Coverage* record);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_COVERAGE_JUDGE_H_
