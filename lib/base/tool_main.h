// The frame of every program: flags, help, errors, exit code.
#ifndef FEEDRATE_LIB_BASE_TOOL_MAIN_H_
#define FEEDRATE_LIB_BASE_TOOL_MAIN_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/exit_code.h"
#include "lib/base/tool_info.h"

namespace feedrate {

// What a program does once its flags are parsed. Gets the arguments that are
// not flags (none unless `takes_arguments`).
using ToolBody =
    std::function<absl::StatusOr<ExitCode>(const std::vector<std::string>&)>;

// Runs a program: answers --help, --version and --completion, parses flags,
// calls `body`, prints a failing status once as `name: message` on standard
// error, and returns the exit code for main. What was written to standard
// output and did not arrive is a failed run.
//
//   int main(int argc, char** argv) {
//     return feedrate::ToolMain(argc, argv, Info(), Run);
//   }
int ToolMain(int argc, char** argv, const ToolInfo& info, const ToolBody& body);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_TOOL_MAIN_H_
