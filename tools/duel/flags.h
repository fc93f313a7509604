// The command line of duel and its help text.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/tool/tool_info.h"
#include "lib/gate/duel/run_duel.h"

namespace feedrate {

ToolInfo DuelInfo();

// gflags keeps only the last value of a flag. Joins those of --b and
// --parameter, and spells --rows out.
std::vector<std::string> JoinRepeated(int argc, char** argv);

// What the flags ask for. `args` are the commands without a flag.
absl::StatusOr<DuelRun> RunOfFlags(const std::vector<std::string>& args);

}  // namespace feedrate
