// What the gate said, as a part of a report.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_VERDICTS_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_VERDICTS_H_

#include <vector>

#include "absl/types/optional.h"
#include "lib/draw/document.h"
#include "lib/records/records.pb.h"

namespace feedrate {

// The suites first, then job by job, what is slower before what is the same:
// verdict, effect with its interval, reasons; the rules that were not passed;
// the commands to see it again. None without a verdict.
absl::optional<Section> VerdictsSection(std::vector<Verdict> verdicts);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_VERDICTS_H_
