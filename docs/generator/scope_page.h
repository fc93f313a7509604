// The page that says what is measured, what is not, and why.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"

namespace feedrate {

absl::StatusOr<std::string> ScopePage(const Catalogue& catalogue);

}  // namespace feedrate
