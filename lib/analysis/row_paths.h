// Files that a user means by files and folders.
#ifndef FEEDRATE_LIB_ANALYSIS_ROW_PATHS_H_
#define FEEDRATE_LIB_ANALYSIS_ROW_PATHS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedrate {

// `paths` with each folder replaced by the files below it whose names have one
// of `endings`, sorted. Anything else, such as `-` or a pipe, stays. NotFound
// when a folder has no such file.
absl::StatusOr<std::vector<std::string>> ExpandPaths(
    const std::vector<std::string>& paths,
    const std::vector<std::string>& endings);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ANALYSIS_ROW_PATHS_H_
