// Sections of a report that compare: changes since earlier rows, and verdicts
// of the gate.
#pragma once

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "lib/analysis/report/report_data.h"
#include "lib/draw/charts.h"
#include "lib/draw/document.h"
#include "lib/records/verdict.pb.h"

namespace feedrate {

// A cell that is in both sets of rows.
struct Change {
  const ReportCell* before = nullptr;
  const ReportCell* now = nullptr;
  // Throughput now / before. Meaningless unless both ran.
  Estimate ratio;
  // `faster` or `slower` if the interval excludes 1, `tied` if it does not,
  // `cannot tell` if the runs prove nothing. If one did not run, both
  // statuses.
  std::string word;
  // What is missing to tell. May be empty.
  std::string why;
};

struct Changes {
  std::vector<Change> changes;
  // Number of cells that only one side has, or that ran on different machines.
  int only_before = 0;
  int only_now = 0;
};

// Pairs cells of the same job on the same machine profile. Library versions may
// differ, since that may be the change. The result points into the arguments.
Changes ChangesBetween(const std::vector<ReportCell>& before,
                       const std::vector<ReportCell>& now);

Section ChangesSection(const Changes& changes);

// The gate's verdicts: suites first, then jobs, with slower jobs before
// unchanged ones. Shows the verdict, the effect with its interval and the
// reasons, then the rules that failed and the commands to reproduce it. None if
// there is no verdict.
absl::optional<Section> VerdictsSection(std::vector<Verdict> verdicts);

}  // namespace feedrate
