// The flags of `pipeline` and `video` that audit loaders.
#pragma once

#include "absl/status/status.h"
#include "lib/runner/core/run.h"
#include "lib/runner/loader/loader_work.h"

namespace feedrate {

// For ToolInfo::flag_files.
inline constexpr char kAuditFlagsFile[] = "lib/runner/loader/audit_flags.cc";

// Sets what --audit and --soak ask for: the data set too, unless flags or jobs
// name one. InvalidArgument names a flag that is wrong. REQUIRES: flags are
// parsed.
absl::Status ApplyAuditFlags(RunOptions* options, LoaderWorkOptions* loader);

}  // namespace feedrate
