#include "lib/base/new_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

absl::Status Failed(absl::string_view what, const std::string& path) {
  const int error = errno;
  const std::string text =
      absl::StrCat(path, ": cannot ", what, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR || error == EISDIR) {
    return absl::NotFoundError(text);
  }
  return absl::UnavailableError(text);
}

// A device, pipe or socket; folders are not, and fail by themselves later.
bool IsSpecial(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
         !S_ISDIR(info.st_mode);
}

absl::Status WriteAll(int fd, absl::string_view content,
                      const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write", path);
    content.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(
    const std::string& path) {
  if (IsSpecial(path)) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return Failed("open", path);
    return std::unique_ptr<NewFile>(new NewFile(path, "", fd));
  }
  std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  const int fd =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return Failed("create", path);
  return std::unique_ptr<NewFile>(new NewFile(path, temporary, fd));
}

NewFile::~NewFile() {
  close(fd_);
  if (!committed_ && !temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status NewFile::Commit() {
  if (temporary_.empty()) return absl::OkStatus();
  if (fsync(fd_) != 0) return Failed("sync", path_);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return Failed("replace", path_);
  }
  committed_ = true;
  const std::string folder = ParentFolder(path_);
  const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  const bool synced = folder_fd >= 0 && fsync(folder_fd) == 0;
  const absl::Status status =
      synced ? absl::OkStatus() : Failed("sync", folder);
  if (folder_fd >= 0) close(folder_fd);
  return status;
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content) {
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(path));
  RETURN_IF_ERROR(WriteAll(file->fd(), content, path));
  return file->Commit();
}

}  // namespace feedrate
