// The sections of a report, each in a file of its subject: the summary and the
// last sections (overview_sections.cc), one setting (setting_section.cc), where
// time goes inside loaders and training steps and where it changed
// (inside_sections.cc), and memory, mixtures and noise (detail_sections.cc).
#pragma once

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/document.h"

namespace feedrate {

struct SpeedUpOptions {
  // Library that others are compared with. Empty means the one with most lines.
  std::string relative_to;
  // Also compares cells that are not known to do the same work.
  bool any_work = false;
};

// Table and figures of one setting.
Section SettingSection(const Setting& setting, const SpeedUpOptions& options);

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

// For each loader, the parts of an epoch, its stages, its use of GPU and store,
// and its bottleneck. None if no cell is of a loader.
absl::optional<Section> LoaderSection(const std::vector<ReportCell>& cells);

// The parts of training steps, MFU and GPU use. None if no cell is of a
// training.
absl::optional<Section> StepsSection(const std::vector<ReportCell>& cells);

// Where time changed: a ranked table and a flame graph per profile, and a table
// per job whose paired rows have stages or parts. None if there is neither.
absl::optional<Section> WhereSection(const ReportInput& input);

// Peak memory of the measured processes and of GPUs. None if not measured.
absl::optional<Section> MemorySection(const std::vector<ReportCell>& cells);

// What mixtures consisted of over time, and which data sets stall them, for the
// first run of each job. None if there are no `batch` records.
absl::optional<Section> MixtureSection(const ReportInput& input);

// Spread over runs, warnings, unstable cells, and the cost of the harness.
absl::optional<Section> NoiseSection(const std::vector<ReportCell>& cells);

}  // namespace feedrate
