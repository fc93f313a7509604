// Names that objects may have.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_OBJECT_NAME_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_OBJECT_NAME_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Spaces, Unicode and signs are fine. InvalidArgument, with the name, where it
// is empty, begins with a slash, has a part "." or ".." (a server or a folder
// may resolve those, and then it is another object), a control character, or
// more than the 1024 bytes that S3 and GCS allow.
absl::Status CheckObjectName(absl::string_view name);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_OBJECT_NAME_H_
