// Shell completion, generated from the flags.
#ifndef FEEDRATE_LIB_BASE_COMPLETION_H_
#define FEEDRATE_LIB_BASE_COMPLETION_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/tool_info.h"

namespace feedrate {

// A script that completes the program's flags and their values. `shell` is
// `bash`, `zsh` or `fish`; another is InvalidArgument.
absl::StatusOr<std::string> CompletionScript(const ToolInfo& info,
                                             absl::string_view shell);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_COMPLETION_H_
