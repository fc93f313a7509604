// Lists of data sets and weights as other projects write them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/mixture/mixture_folder.h"

namespace feedrate {

// Parses a list of pairs in Python or JSON, such as octo's
//
//   OXE_MAGIC_SOUP = [("bridge_dataset", 1.0), ("fractal20220817_data", 0.5)]
//
// `name` picks one of several lists by its name or key; empty takes the first.
// Comments begin with `#`. InvalidArgument gives the line of what is wrong.
absl::StatusOr<std::vector<DatasetEntry>> ParseMixtureList(
    absl::string_view text, absl::string_view name);

}  // namespace feedrate
