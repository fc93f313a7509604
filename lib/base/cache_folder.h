// The folder for files that can be recreated.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace feedrate {

// $XDG_CACHE_HOME/feedrate, or ~/.cache/feedrate, as in the scripts in dev/.
// Creates it where that is possible. InvalidArgument when neither variable is
// set to an absolute path, or when the folder is not private
// (lib/base/private_folder.h).
absl::StatusOr<std::string> CacheFolder();

}  // namespace feedrate
