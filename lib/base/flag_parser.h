// Command lines, parsed onto gflags without its habit of ending the process.
#ifndef FEEDRATE_LIB_BASE_FLAG_PARSER_H_
#define FEEDRATE_LIB_BASE_FLAG_PARSER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedrate {

// Sets flags from `args` (without the program's name) and returns what is not
// a flag. `-` alone is not a flag; after `--` nothing is.
//
// Names may be written with hyphens or underscores, with one or two leading
// hyphens, as `--name=value`, `--name value`, and for booleans `--name`,
// `--noname` or `--no-name`. An unknown name or a value of the wrong type is
// InvalidArgument with the nearest known name or what would be right.
absl::StatusOr<std::vector<std::string>> ParseFlags(
    const std::vector<std::string>& args);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_FLAG_PARSER_H_
