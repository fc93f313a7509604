// Findings on a machine for a person to read.
#ifndef FEEDRATE_TOOLS_COLLECT_ENV_CHECK_REPORT_H_
#define FEEDRATE_TOOLS_COLLECT_ENV_CHECK_REPORT_H_

#include <string>
#include <vector>

#include "lib/base/exit_code.h"
#include "lib/machine/check.h"

namespace feedrate {

// A table of all checks, then what is wrong and what to do about it, then one
// line that sums up.
std::string CheckReport(const std::vector<Check>& checks);

// kCheckSaidNo when a check warns; else kCannotTell when one is unknown; else
// kDone. Notes change nothing.
ExitCode CheckExitCode(const std::vector<Check>& checks);

}  // namespace feedrate

#endif  // FEEDRATE_TOOLS_COLLECT_ENV_CHECK_REPORT_H_
