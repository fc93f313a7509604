// Protobuf text as people write it, with errors that name the place.
#pragma once

#include <string>

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

// Parses `text` into `message`, which is cleared first. An error is
// InvalidArgument with `file:line:column: what is wrong`, for an unknown field
// also which one may have been meant. Strings must be UTF-8 without NUL.
// `file` is only for messages. `places`, where given, learns where each field
// stands.
absl::Status ParseTextProto(absl::string_view text, const std::string& file,
                            google::protobuf::Message* message,
                            Places* places = nullptr);

// The same for the content of `path`.
absl::Status ReadTextProto(const std::string& path,
                           google::protobuf::Message* message,
                           Places* places = nullptr);

// `message` as text that ParseTextProto reads back: one field a line,
// two spaces of indentation, fields in the order of the schema.
std::string PrintTextProto(const google::protobuf::Message& message);

}  // namespace feedrate
