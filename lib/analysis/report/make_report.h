// What the program `report` does, without its flags.
#ifndef FEEDRATE_LIB_ANALYSIS_REPORT_MAKE_REPORT_H_
#define FEEDRATE_LIB_ANALYSIS_REPORT_MAKE_REPORT_H_

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/exit_code.h"

namespace feedrate {

struct ReportRequest {
  // Files, folders, `-`. At least one.
  std::vector<std::string> paths;
  // Where the page goes. `-`: to `out`. Empty: to `out` unless figures,
  // targets or claims are asked for and nothing else.
  std::string output;
  bool markdown = false;
  // Empty: no figures, targets, claims, baseline.
  std::string svg_folder;
  // A TrueType font whose outlines replace text in figures. Empty: text.
  std::string svg_font;
  std::string targets;
  std::string claims;
  std::string baseline;
  std::string relative_to;
  bool any_work = false;
  std::string title;
  // Gets what is broken in the records, one line each.
  std::function<void(const std::string&)> warn;
};

// kCheckSaidNo: a target is missed or a claim does not follow. kCannotTell: no
// target can be judged. kInvalid: no rows, no claims in the file, or nothing
// in common with the baseline; what can be written is written all the same.
absl::StatusOr<ExitCode> MakeReport(const ReportRequest& request,
                                    std::ostream& out);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_REPORT_MAKE_REPORT_H_
