// The profile files of AWS.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_INI_FILE_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_INI_FILE_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace feedrate {

// Section to key to value. Keys in lower case; one that is indented below
// another without a value has both: "s3.addressing_style".
using IniFile = std::map<std::string, std::map<std::string, std::string>>;

// Lines that make no sense are passed over, as AWS's own tools do; their text
// may be a secret, so nobody is told.
IniFile ParseIni(absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_INI_FILE_H_
