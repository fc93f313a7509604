// Sections of a report besides throughput: memory, mixtures and noise.
#pragma once

#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/document.h"

namespace feedrate {

// Peak memory of the measured processes and of GPUs. None if not measured.
absl::optional<Section> MemorySection(const std::vector<ReportCell>& cells);

// What mixtures consisted of over time, and which data sets stall them, for the
// first run of each job. None if there are no `batch` records.
absl::optional<Section> MixtureSection(const ReportInput& input);

// Spread over runs, warnings, unstable cells, and the cost of the harness.
absl::optional<Section> NoiseSection(const std::vector<ReportCell>& cells);

}  // namespace feedrate
