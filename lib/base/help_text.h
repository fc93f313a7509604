// The text of --help.
#ifndef FEEDRATE_LIB_BASE_HELP_TEXT_H_
#define FEEDRATE_LIB_BASE_HELP_TEXT_H_

#include <string>

#include "lib/base/tool_info.h"

namespace feedrate {

// What the program does, its flags, exit codes and examples. With `all` the
// flags of the libraries it uses too.
std::string HelpText(const ToolInfo& info, bool all);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_HELP_TEXT_H_
