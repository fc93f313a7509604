// Memory files (memfd_create), which carry data to another process.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// Makes a memory file permanently read-only: nobody can write to it or change
// its size any more. `fd` was created with MFD_ALLOW_SEALING. On failure
// returns false and sets errno.
//
// The kernel returns EBUSY while anything holds a reference to one of the
// pages, which may be its own housekeeping (reclaim, migration, access
// monitoring), so sealing is retried for a few seconds.
bool SealMemory(int fd);

// Writes `text` to a new, sealed memory file. `what` names it in error
// messages.
absl::StatusOr<UniqueFd> WriteMemoryFile(absl::string_view text,
                                         absl::string_view what);

// Reads the whole file, whatever the current offset of `fd`. `what` names it in
// error messages.
absl::StatusOr<std::string> ReadMemoryFile(int fd, absl::string_view what);

}  // namespace feedrate
