// Whether the strings of a config are text.
#ifndef FEEDRATE_LIB_CONFIG_CHECK_TEXT_H_
#define FEEDRATE_LIB_CONFIG_CHECK_TEXT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "lib/config/places.h"

namespace feedrate {

// Whether what is parsed from `source` needs CheckText: strings come out as
// ASCII unless there are other bytes or escapes in it.
bool NeedsCheckText(absl::string_view source);

// InvalidArgument, with the place, for the first string anywhere in `message`
// that is not UTF-8 or holds a NUL: records and file names could not hold it.
absl::Status CheckText(const google::protobuf::Message& message,
                       const Places& places);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_CONFIG_CHECK_TEXT_H_
