// The part of a report on one setting: table and figures.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_SECTION_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_SECTION_H_

#include <string>

#include "lib/analysis/report/setting.h"
#include "lib/draw/document.h"

namespace feedrate {

struct SpeedUpOptions {
  // Library that others are compared with. Empty: the one with most lines.
  std::string relative_to;
  // Ratios also between cells that are not known to do the same work.
  bool any_work = false;
};

// Median throughput: lines down, libraries across, the best in bold together
// with those whose intervals overlap its own.
DocumentTable TableOf(const Setting& setting);

Section SettingSection(const Setting& setting, const SpeedUpOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_SETTING_SECTION_H_
