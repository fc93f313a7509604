// The section of a report on one setting: table, figures and speed-ups.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_SECTION_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_SECTION_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"

namespace feedrate {

struct LineSpeedUp {
  std::string line;
  // Ratio of medians, with an interval if both have one.
  Estimate ratio;
  std::string hover;
};

// Speed-ups of one library over the reference.
struct LibrarySpeedUps {
  std::string library;
  // Its index in the setting's libraries.
  size_t column = 0;
  std::vector<LineSpeedUp> lines;
  // Geometric mean over `lines`, with an interval if there are three or more.
  Estimate mean;
};

struct SpeedUps {
  std::string reference;
  std::vector<LibrarySpeedUps> libraries;
  // Number of pairs omitted because they are not known to do the same work.
  int left_out = 0;
};

// Speed-ups over `reference`; empty means the library that ran the most lines.
// Compares only cells whose output is exact or equivalent, unless `any_work`.
// None if the reference is not in the setting or is the only library there.
absl::optional<SpeedUps> SpeedUpsOf(const Setting& setting,
                                    const std::string& reference,
                                    bool any_work);

struct SpeedUpOptions {
  // Library that others are compared with. Empty means the one with most lines.
  std::string relative_to;
  // Also compares cells that are not known to do the same work.
  bool any_work = false;
};

Section SettingSection(const Setting& setting, const SpeedUpOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_SECTION_H_
