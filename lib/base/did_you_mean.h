// Suggestions for mistyped names.
#ifndef FEEDRATE_LIB_BASE_DID_YOU_MEAN_H_
#define FEEDRATE_LIB_BASE_DID_YOU_MEAN_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace feedrate {

// Number of single-character insertions, deletions, replacements and swaps of
// neighbours that turn `a` into `b`. Letter case and `-` against `_` are free.
int EditDistance(absl::string_view a, absl::string_view b);

// The candidate nearest to `name`, or "" when none is near enough to be what
// the writer meant: at most a third of the name may differ.
std::string Nearest(absl::string_view name,
                    const std::vector<std::string>& candidates);

// `; did you mean "X"?` for the nearest candidate, else `; use one of A, B`
// when there are few, else "". Ready to follow an error message.
std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& candidates);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_DID_YOU_MEAN_H_
