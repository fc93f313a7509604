// A report from records: what is said, in which order.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_REPORT_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_REPORT_H_

#include <string>

#include "lib/analysis/report/input.h"
#include "lib/analysis/report/setting_section.h"
#include "lib/analysis/report/targets.h"
#include "lib/draw/document.h"

namespace feedrate {

struct ReportOptions {
  std::string title = "feedrate report";
  SpeedUpOptions speed_ups;
  // Earlier rows to show changes against. Null: none.
  const ReportInput* baseline = nullptr;
  // Judged already. Null: none.
  const TargetsReport* targets = nullptr;
};

// Summary, targets, changes, verdicts, pipelines, micro, memory, noise,
// environment, what was not measured, how to repeat it. Parts without content
// are left out.
Document BuildReport(const ReportInput& input, const ReportOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_REPORT_H_
