// The main function shared by all programs: flags, help, errors, exit code.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/tool/exit_code.h"
#include "lib/base/tool/tool_info.h"

namespace feedrate {

// Sets gflags from `args` (without the program's name) and returns the
// arguments that are not flags. `-` alone is not a flag, nor is anything after
// `--`. Unlike gflags' own parser this never ends the process.
//
// Names may be written with hyphens or underscores, with one or two leading
// hyphens, as `--name=value`, `--name value`, and for booleans `--name`,
// `--noname` or `--no-name`. For an unknown name or a value of the wrong type,
// returns InvalidArgument with the nearest known name or the expected type.
absl::StatusOr<std::vector<std::string>> ParseFlags(
    const std::vector<std::string>& args);

// What a program does once its flags are parsed. The parameter is the list of
// arguments that are not flags (empty unless `takes_arguments`).
using ToolBody =
    std::function<absl::StatusOr<ExitCode>(const std::vector<std::string>&)>;

// Runs a program: parses flags, handles --help, --version and --completion,
// calls `body`, prints an error as `name: message` to standard error, and
// returns the exit code for main. If standard output cannot be written (a full
// disk, for example), the run fails. If its reader is gone (`| head`), the
// process ends silently by SIGPIPE, even if the body ignored the signal. An
// allocation that fails is an error like others.
//
//   int main(int argc, char** argv) {
//     return feedrate::ToolMain(argc, argv, Info(), Run);
//   }
int ToolMain(int argc, char** argv, const ToolInfo& info, const ToolBody& body);

}  // namespace feedrate
