// A flag that takes one of some words.
#ifndef FEEDRATE_LIB_BASE_CHOICE_H_
#define FEEDRATE_LIB_BASE_CHOICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// InvalidArgument, with the nearest of `known` or all of them, when `value` is
// none of them. `flag` is as people type it, such as `--format`.
absl::Status CheckChoice(absl::string_view flag, const std::string& value,
                         const std::vector<std::string>& known);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_CHOICE_H_
