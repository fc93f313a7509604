// Sections of a report on where time goes inside loaders and training steps,
// and where it changed.
#pragma once

#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/document.h"

namespace feedrate {

// For each loader, the parts of an epoch, its stages, its use of GPU and store,
// and its bottleneck. None if no cell is of a loader.
absl::optional<Section> LoaderSection(const std::vector<ReportCell>& cells);

// The parts of training steps, MFU and GPU use. None if no cell is of a
// training.
absl::optional<Section> StepsSection(const std::vector<ReportCell>& cells);

// Where time changed: a ranked table and a flame graph per profile, and a table
// per job whose paired rows have stages or parts. None if there is neither.
absl::optional<Section> WhereSection(const ReportInput& input);

}  // namespace feedrate
