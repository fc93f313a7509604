// The program `report` without its flags, and the order of a report's sections.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/analysis/report/claims_and_targets.h"
#include "lib/analysis/report/report_data.h"
#include "lib/analysis/report/sections.h"
#include "lib/base/tool/exit_code.h"
#include "lib/draw/document.h"
#include "lib/gate/history.h"

namespace feedrate {

struct ReportOptions {
  std::string title = "feedrate report";
  SpeedUpOptions speed_ups;
  // Earlier rows to compare with. May be null.
  const ReportInput* baseline = nullptr;
  // Jobs over time. May be empty.
  std::vector<HistorySeries> history;
  // Where a revision can be looked at; see CheckCommitUrl. May be empty.
  std::string commit_url;
  // Targets with their outcomes. May be null.
  const TargetsReport* targets = nullptr;
};

// Builds the sections: summary, targets, changes, verdicts, where time changed,
// history, pipelines,
// micro, loaders, training steps, memory, noise, environment, cells that were
// not measured, how to repeat the runs. Omits sections without content.
Document BuildReport(const ReportInput& input, const ReportOptions& options);

struct ReportRequest {
  // Files, folders, or `-` for standard input. At least one unless there is a
  // history.
  std::vector<std::string> paths;
  // File to write the page to; `-` means `out`. Empty means `out`, but no page
  // if only figures, targets or claims are requested.
  std::string output;
  bool markdown = false;
  // Here and in the next four, empty means none.
  std::string svg_folder;
  std::string targets;
  std::string claims;
  std::string baseline;
  std::string history;
  // Links revisions of the history. Empty means none.
  std::string commit_url;
  std::string relative_to;
  bool any_work = false;
  std::string title;
  // Called with each problem in the records, one line each.
  std::function<void(const std::string&)> warn;
};

// kCheckSaidNo if a target is missed or a claim does not hold. kCannotTell if
// no target can be judged. kInvalid if there are no rows, no claims in the
// file, or nothing in common with the baseline; whatever can be written is
// still written.
absl::StatusOr<ExitCode> MakeReport(const ReportRequest& request,
                                    std::ostream& out);

}  // namespace feedrate
