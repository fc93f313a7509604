// The summary of a report, and its last sections: machines, cells that were not
// measured, and how to repeat the runs.
#pragma once

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/setting_section.h"
#include "lib/draw/document.h"

namespace feedrate {

// The machines and days of the report in one line.
std::string SubtitleOf(const ReportInput& input);

Section SummarySection(const ReportInput& input,
                       const std::vector<ReportCell>& cells,
                       const std::vector<Setting>& settings,
                       const SpeedUpOptions& options);

// The machines. None if there is no `env` record.
absl::optional<Section> EnvironmentSection(const ReportInput& input);

// Every cell without a number or with failed runs, and the reason. None if
// there is no such cell.
absl::optional<Section> NotMeasuredSection(
    const std::vector<ReportCell>& cells);

// Commands and configs of the runs. None if there is no `run` record.
absl::optional<Section> RepeatSection(const ReportInput& input);

}  // namespace feedrate
