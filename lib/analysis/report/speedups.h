// How much faster each library is than one of them.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_SPEEDUPS_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_SPEEDUPS_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/setting.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"

namespace feedrate {

struct LineSpeedUp {
  std::string line;
  // Median over median, with the interval of the ratio where both have one.
  Estimate ratio;
  std::string hover;
};

// One library against the reference.
struct LibrarySpeedUps {
  std::string library;
  // Its place among the setting's libraries.
  size_t column = 0;
  std::vector<LineSpeedUp> lines;
  // Geometric mean over `lines`, with its interval from three on.
  Estimate mean;
};

struct SpeedUps {
  std::string reference;
  std::vector<LibrarySpeedUps> libraries;
  // Pairs that both ran but are not known to do the same work.
  int left_out = 0;
};

// Ratios to `reference`; empty: the library that ran the most lines. Only
// between cells whose output is exact or equivalent, unless `any_work`. None
// when the reference is not in the setting or is alone there.
absl::optional<SpeedUps> SpeedUpsOf(const Setting& setting,
                                    const std::string& reference,
                                    bool any_work);

// The forest plot. None without a single ratio.
absl::optional<Figure> ForestOf(const Setting& setting,
                                const SpeedUps& speed_ups);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_SPEEDUPS_H_
