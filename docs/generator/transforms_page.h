// The page of one transform set.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"
#include "lib/config/matrix.pb.h"

namespace feedrate {

// Members with what each library is asked for, one line per transform, where
// libraries do different work under one name, and what is not a member and why.
// REQUIRES: `scenario` is of `catalogue`.
absl::StatusOr<std::string> TransformsPage(const Catalogue& catalogue,
                                           const Scenario& scenario);

}  // namespace feedrate
