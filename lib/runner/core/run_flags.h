// The flags that `micro`, `pipeline`, `video` and `mixture` share, besides
// those that override a config.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "lib/runner/core/run.h"

namespace feedrate {

// For ToolInfo::flag_files.
inline constexpr char kRunFlagsFile[] = "lib/runner/core/run_flags.cc";

// The options that the command line of `tool` asks for. Sets no modes.
// REQUIRES: flags are parsed.
absl::StatusOr<RunOptions> RunOptionsFromFlags(const std::string& tool);

}  // namespace feedrate
