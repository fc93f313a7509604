// The folder for files that can be recreated.
#ifndef FEEDRATE_LIB_RUNNER_DATA_CACHE_FOLDER_H_
#define FEEDRATE_LIB_RUNNER_DATA_CACHE_FOLDER_H_

#include <string>

#include "absl/status/statusor.h"

namespace feedrate {

// $XDG_CACHE_HOME/feedrate, or ~/.cache/feedrate, as in the scripts in dev/.
// Need not exist. FailedPrecondition when neither variable names an absolute
// folder: whoever owns the current folder must not decide what is run or read.
absl::StatusOr<std::string> CacheFolder();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_DATA_CACHE_FOLDER_H_
