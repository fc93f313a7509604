// The scripts of a campaign, which are files in templates/.
#ifndef FEEDRATE_LIB_PLANNING_EMIT_TEMPLATES_H_
#define FEEDRATE_LIB_PLANNING_EMIT_TEMPLATES_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// The file templates/NAME. REQUIRES: it is one of the BUILD file's list.
std::string Template(absl::string_view name);

// The same with each @KEY@ replaced by its value. Most templates need none of
// this: what differs between campaigns is in files that they source.
// REQUIRES: every key is in it, and nothing that looks like a key is left.
std::string FillTemplate(absl::string_view name,
                         const std::map<std::string, std::string>& values);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_PLANNING_EMIT_TEMPLATES_H_
