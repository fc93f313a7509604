// Figures of one setting.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_FIGURES_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_FIGURES_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/setting.h"
#include "lib/draw/document.h"

namespace feedrate {

// Each is none, or empty, where there is nothing to draw. `setting` may go
// away afterwards.

// Throughput with intervals, lines under each other.
absl::optional<Figure> BarsOf(const Setting& setting);
// Each library's share of the fastest one of the line.
absl::optional<Figure> HeatMapOf(const Setting& setting);
// What of the machine's limit is reached.
absl::optional<Figure> OfLimitOf(const Setting& setting);
// One for each swept axis with numbers and each transform, the other axes at
// their first value.
std::vector<Figure> ScalingOf(const Setting& setting);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_FIGURES_H_
