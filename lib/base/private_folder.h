// What other users of the machine can change is not trusted: caches, Python
// environments, journals. The rule is here, so that it is one rule.
//
// A file or folder is private when it belongs to this user or to root, neither
// its group nor others can write it, and it is not a symbolic link. Who may
// write the folder above it can still replace it: put private folders below
// folders of your own, or below one with the sticky bit, such as /tmp.
#pragma once

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// InvalidArgument, one line with the path, the reason and a remedy, when `path`
// is not private. NotFound when there is no such path.
absl::Status CheckPrivate(const std::string& path);
// The same for a file that is open or whose status is known. `info` comes from
// lstat or fstat.
absl::Status CheckPrivate(const std::string& path, const struct stat& info);

// For a folder that the user has named: it may be a link, if the link and the
// folder it leads to are private.
absl::Status CheckPrivateFolder(const std::string& folder);

// Creates `folder`, for this user only (0700), and its parents where they are
// missing. An existing one must be private, see CheckPrivateFolder.
absl::Status MakePrivateFolder(const std::string& folder);

// Creates a folder, or an empty file, for this user only, and returns its path:
// `start` and six random characters. `start` is relative to $TMPDIR, or to /tmp
// if that is not set. The caller removes it.
absl::StatusOr<std::string> MakeTemporaryFolder(absl::string_view start);
absl::StatusOr<std::string> MakeTemporaryFile(absl::string_view start);

// The folder for files that can be recreated: $XDG_CACHE_HOME/feedrate, or
// ~/.cache/feedrate, as in the scripts in dev/. Creates it where that is
// possible. InvalidArgument when neither variable is set to an absolute path,
// or when the folder is not private.
absl::StatusOr<std::string> CacheFolder();

// A lock on a folder whose files several processes change: others who lock it
// wait until this is closed. Unavailable if somebody else has it for a minute:
// a lock can be held by all who may read the folder. Where a file system has no
// such locks, nobody waits.
absl::StatusOr<UniqueFd> LockFolder(const std::string& folder);

}  // namespace feedrate
