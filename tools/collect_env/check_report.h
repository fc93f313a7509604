// The results of the timing checks as text for people.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lib/base/tool/exit_code.h"
#include "lib/machine/timing_checks.h"

namespace feedrate {

// Returns a table of all checks, then each problem with its remedy, then a
// one-line summary.
std::string CheckReport(const std::vector<Check>& checks);

// Removes the checks with these names. InvalidArgument suggests a name for an
// unknown one.
absl::Status IgnoreChecks(const std::vector<std::string>& names,
                          std::vector<Check>* checks);

// Returns kCheckSaidNo if a check warns, else kCannotTell if one is unknown,
// else kDone. Notes and what is usual do not count.
ExitCode CheckExitCode(const std::vector<Check>& checks);

}  // namespace feedrate
