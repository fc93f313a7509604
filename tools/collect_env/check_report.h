// The results of the timing checks as text for people.
#ifndef FEEDRATE_TOOLS_COLLECT_ENV_CHECK_REPORT_H_
#define FEEDRATE_TOOLS_COLLECT_ENV_CHECK_REPORT_H_

#include <string>
#include <vector>

#include "lib/base/tool/exit_code.h"
#include "lib/machine/timing_checks.h"

namespace feedrate {

// Returns a table of all checks, then each problem with its remedy, then a
// one-line summary.
std::string CheckReport(const std::vector<Check>& checks);

// Returns kCheckSaidNo if a check warns, else kCannotTell if one is unknown,
// else kDone. Notes do not count.
ExitCode CheckExitCode(const std::vector<Check>& checks);

}  // namespace feedrate

#endif  // FEEDRATE_TOOLS_COLLECT_ENV_CHECK_REPORT_H_
