// The section of a report on where time changed: functions of profiles, stages
// of loaders and parts of training steps.
#pragma once

#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/document.h"

namespace feedrate {

// A ranked table and a flame graph per profile, and a table per job whose
// paired rows have stages or parts. None if there is neither.
absl::optional<Section> WhereSection(const ReportInput& input);

}  // namespace feedrate
