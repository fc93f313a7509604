#include "lib/base/private_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::Status Refuse(const std::string& path, absl::string_view what,
                    absl::string_view remedy) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": ", what, ", so it is not trusted; ", remedy));
}

absl::Status CheckOwner(const std::string& path, const struct stat& info) {
  if (info.st_uid == geteuid() || info.st_uid == 0) return absl::OkStatus();
  return Refuse(path,
                absl::StrCat("belongs to another user (", info.st_uid, ", not ",
                             geteuid(), ")"),
                "name a folder of your own");
}

absl::Status Failed(const std::string& path) {
  const int error = errno;
  const std::string text =
      absl::StrCat(path, ": cannot look at it: ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text)
                         : absl::InvalidArgumentError(text);
}

std::string TemporaryPattern(absl::string_view start) {
  const char* const folder = getenv("TMPDIR");
  return absl::StrCat(
      JoinPath(folder != nullptr && *folder != 0 ? folder : "/tmp", start),
      "_XXXXXX");
}

absl::Status CannotMake(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot make ", path, ": ", std::strerror(errno),
                   "; set TMPDIR to a folder that you can write"));
}

}  // namespace

// Longer than anybody changes files.
constexpr absl::Duration kLockLimit = absl::Seconds(60);

absl::StatusOr<UniqueFd> LockFolder(const std::string& folder) {
  UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Stopwatch watch;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (watch.Elapsed() > kLockLimit) {
      return absl::UnavailableError(absl::StrCat(
          folder, ": another process has been changing it for ",
          absl::FormatDuration(kLockLimit), "; try again when it has ended"));
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return fd;
}

absl::StatusOr<std::string> CacheFolder() {
  const std::string xdg = Variable("XDG_CACHE_HOME");
  const std::string home = Variable("HOME");
  const std::string& used = xdg.empty() ? home : xdg;
  if (!absl::StartsWith(used, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat(used.empty()  ? "neither HOME nor XDG_CACHE_HOME is set"
                     : xdg.empty() ? "HOME is not an absolute path"
                                   : "XDG_CACHE_HOME is not an absolute path",
                     "; set HOME or XDG_CACHE_HOME to a folder of your own"));
  }
  std::string folder =
      JoinPath(xdg.empty() ? JoinPath(home, ".cache") : xdg, "feedrate");
  const absl::Status made = MakePrivateFolder(folder);
  // On a read-only disk, only those who write there fail.
  if (absl::IsInvalidArgument(made)) return made;
  return folder;
}

absl::Status CheckPrivate(const std::string& path, const struct stat& info) {
  RETURN_IF_ERROR(CheckOwner(path, info));
  if (S_ISLNK(info.st_mode)) {
    return Refuse(path, "is a symbolic link", "remove it");
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return absl::OkStatus();
  return Refuse(path, "other users can write it",
                absl::StrCat("remove it, or, if you trust what it contains: "
                             "chmod -R go-w ",
                             path));
}

absl::Status CheckPrivate(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return Failed(path);
  return CheckPrivate(path, info);
}

absl::Status CheckPrivateFolder(const std::string& folder) {
  struct stat info;
  std::string path = folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (lstat(path.c_str(), &info) != 0) return Failed(path);
  if (S_ISLNK(info.st_mode)) {
    RETURN_IF_ERROR(CheckOwner(path, info));
    if (stat(path.c_str(), &info) != 0) return Failed(path);
  }
  if (!S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a folder; remove it, or name another"));
  }
  return CheckPrivate(path, info);
}

absl::Status MakePrivateFolder(const std::string& folder) {
  std::string path = folder;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  RETURN_IF_ERROR(MakeFolder(ParentFolder(path)));
  // Whoever was faster is found by the check.
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return absl::UnavailableError(absl::StrCat(
        path, ": cannot make this folder: ", std::strerror(errno)));
  }
  return CheckPrivateFolder(path);
}

absl::StatusOr<std::string> MakeTemporaryFolder(absl::string_view start) {
  std::string path = TemporaryPattern(start);
  if (mkdtemp(path.data()) == nullptr) return CannotMake(path);
  return path;
}

absl::StatusOr<std::string> MakeTemporaryFile(absl::string_view start) {
  std::string path = TemporaryPattern(start);
  const UniqueFd file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.valid()) return CannotMake(path);
  return path;
}

}  // namespace feedrate
