// Text for the user about rows of loaders.
#pragma once

#include <string>
#include <vector>

#include "lib/records/row.pb.h"

namespace feedrate {

// Where the time of a row went: stages, epochs with parts left out, and the
// bottleneck. Empty when the row has no diagnosis.
std::string DiagnosisText(const Row& row);

// How busy the training step kept the accelerator, and whether that is enough
// for MLPerf Storage. Empty without a step.
std::string UtilizationText(const Row& row);

// Items that were left out, and the first of them. Empty without any.
std::string FaultsText(const Row& row);

// For rows with the setting `container`: a table per recipe of containers and
// loaders, with speed, memory, bytes and random access, and under it what was
// not measured and why. Ratios are to `native` on `files` in the same run, and
// are missing without it. Empty when no row has the setting.
std::string ContainersText(const std::vector<Row>& rows);

// For each loader and recipe whose rows differ in their settings: the best
// setting, the smallest within 3% of it (fewest workers, then least memory in
// batches), what each worker adds, and a sentence with a recommendation, if the
// runs show that what is smaller still is slower. Empty when nothing was swept.
// With several runs per setting the median counts.
std::string SweepSummary(const std::vector<Row>& rows);

}  // namespace feedrate
