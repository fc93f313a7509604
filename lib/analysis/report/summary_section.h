// The first screen of a report: what, where, how sure.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_SUMMARY_SECTION_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_SUMMARY_SECTION_H_

#include <string>
#include <vector>

#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/input.h"
#include "lib/analysis/report/setting.h"
#include "lib/analysis/report/setting_section.h"
#include "lib/draw/document.h"

namespace feedrate {

// Machines and days in one line.
std::string SubtitleOf(const ReportInput& input);

Section SummarySection(const ReportInput& input,
                       const std::vector<ReportCell>& cells,
                       const std::vector<Setting>& settings,
                       const SpeedUpOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_SUMMARY_SECTION_H_
