// Web addresses without what may open a door.
#ifndef FEEDRATE_LIB_BASE_WITHOUT_QUERY_H_
#define FEEDRATE_LIB_BASE_WITHOUT_QUERY_H_

#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// `text` with the query of each http(s) address in it replaced by "?...": in a
// signed address the query is the credential. For whatever is written down.
std::string WithoutQueries(absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_WITHOUT_QUERY_H_
