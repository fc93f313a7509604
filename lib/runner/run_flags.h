// The flags that every runner has, besides those that change a config.
#ifndef FEEDRATE_LIB_RUNNER_RUN_FLAGS_H_
#define FEEDRATE_LIB_RUNNER_RUN_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "lib/runner/run.h"

namespace feedrate {

// For ToolInfo::flag_files of a runner.
inline constexpr char kRunFlagsFile[] = "lib/runner/run_flags.cc";

// What the command line of `tool` asks for. REQUIRES: flags are parsed.
absl::StatusOr<RunOptions> RunOptionsFromFlags(const std::string& tool);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_RUN_FLAGS_H_
