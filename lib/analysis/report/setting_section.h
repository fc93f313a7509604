// The section of a report on one setting: table and figures.
#pragma once

#include <string>

#include "lib/analysis/report/report_data.h"
#include "lib/draw/document.h"

namespace feedrate {

struct SpeedUpOptions {
  // Library that others are compared with. Empty means the one with most lines.
  std::string relative_to;
  // Also compares cells that are not known to do the same work.
  bool any_work = false;
};

Section SettingSection(const Setting& setting, const SpeedUpOptions& options);

}  // namespace feedrate
