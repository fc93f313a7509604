// A lock on a folder whose files several processes change.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// Others who lock the folder wait until this is closed. Unavailable if somebody
// else has it for a minute: a lock can be held by all who may read the folder.
// Where a file system has no such locks, nobody waits.
absl::StatusOr<UniqueFd> LockFolder(const std::string& folder);

}  // namespace feedrate
