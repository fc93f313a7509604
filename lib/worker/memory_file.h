// Text in a memory file, for another process to read.
#ifndef FEEDRATE_LIB_WORKER_MEMORY_FILE_H_
#define FEEDRATE_LIB_WORKER_MEMORY_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// Sealed: nobody changes it any more. `what` is for messages.
absl::StatusOr<UniqueFd> WriteMemoryFile(absl::string_view text,
                                         absl::string_view what);

// All of it, wherever `fd` stands.
absl::StatusOr<std::string> ReadMemoryFile(int fd, absl::string_view what);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_MEMORY_FILE_H_
