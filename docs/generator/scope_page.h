// The page that says what is measured, what is not, and why.
#ifndef FEEDRATE_DOCS_GENERATOR_SCOPE_PAGE_H_
#define FEEDRATE_DOCS_GENERATOR_SCOPE_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "lib/catalogue/catalogue.h"

namespace feedrate {

absl::StatusOr<std::string> ScopePage(const Catalogue& catalogue);

}  // namespace feedrate

#endif  // FEEDRATE_DOCS_GENERATOR_SCOPE_PAGE_H_
