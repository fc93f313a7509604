// The folder for files that can be recreated.
#ifndef FEEDRATE_LIB_RUNNER_DATA_CACHE_FOLDER_H_
#define FEEDRATE_LIB_RUNNER_DATA_CACHE_FOLDER_H_

#include <string>

namespace feedrate {

// $XDG_CACHE_HOME/feedrate, or ~/.cache/feedrate, as in the scripts in dev/.
// Need not exist.
std::string CacheFolder();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_DATA_CACHE_FOLDER_H_
