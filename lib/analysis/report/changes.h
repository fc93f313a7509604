// What changed against earlier rows.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_CHANGES_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_CHANGES_H_

#include <string>
#include <vector>

#include "lib/analysis/report/cell.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"

namespace feedrate {

// One piece of work in both.
struct Change {
  const ReportCell* before = nullptr;
  const ReportCell* now = nullptr;
  // Throughput now over before. Meaningless unless both ran.
  Estimate ratio;
  // `faster` or `slower` when the interval excludes 1, `not shown` when it
  // does not, `cannot tell` without one, else what each was.
  std::string word;
};

struct Changes {
  std::vector<Change> changes;
  // Cells that only one side has, or that ran on different machines.
  int only_before = 0;
  int only_now = 0;
};

// Pairs cells of the same job on the same machine profile. Library versions
// may differ: that may be the change. Pointers go into the arguments.
Changes ChangesBetween(const std::vector<ReportCell>& before,
                       const std::vector<ReportCell>& now);

Section ChangesSection(const Changes& changes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_CHANGES_H_
