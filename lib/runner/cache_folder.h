// Where things are kept that can be made again.
#ifndef FEEDRATE_LIB_RUNNER_CACHE_FOLDER_H_
#define FEEDRATE_LIB_RUNNER_CACHE_FOLDER_H_

#include <string>

namespace feedrate {

// $XDG_CACHE_HOME/feedrate, else ~/.cache/feedrate, as the scripts in dev/ have
// it. Need not exist.
std::string CacheFolder();

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_CACHE_FOLDER_H_
