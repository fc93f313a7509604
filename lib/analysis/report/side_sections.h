// The parts of a report beside its results.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_SIDE_SECTIONS_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_SIDE_SECTIONS_H_

#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/cell.h"
#include "lib/analysis/report/input.h"
#include "lib/draw/document.h"

namespace feedrate {

// Peak memory of the measured processes and of GPUs. None: not measured.
absl::optional<Section> MemorySection(const std::vector<ReportCell>& cells);

// Parts of an epoch, stages and what binds, of each loader. None: there is no
// loader among the cells.
absl::optional<Section> LoaderSection(const std::vector<ReportCell>& cells);

// What mixtures were made of over time, and which data sets stall them: the
// first run of each job. None without `batch` records.
absl::optional<Section> MixtureSection(const ReportInput& input);

// Spread over runs, warnings, unstable cells, what the harness costs.
absl::optional<Section> NoiseSection(const std::vector<ReportCell>& cells);

// The machines. None without an `env` record.
absl::optional<Section> EnvironmentSection(const ReportInput& input);

// Every cell without a number, or with runs that failed, and its reason. None
// when there is none.
absl::optional<Section> NotMeasuredSection(
    const std::vector<ReportCell>& cells);

// Commands and configs of the runs. None without a `run` record.
absl::optional<Section> RepeatSection(const ReportInput& input);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_SIDE_SECTIONS_H_
