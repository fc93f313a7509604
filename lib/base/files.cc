#include "lib/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

namespace fs = std::filesystem;

absl::Status ErrnoStatus(absl::string_view what, const std::string& path) {
  const int error = errno;
  const std::string text =
      absl::StrCat(path, ": ", what, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EISDIR) return absl::InvalidArgumentError(text);
  return absl::UnavailableError(text);
}

// Closes on every way out.
class File {
 public:
  File(const std::string& path, int flags)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

absl::Status WriteAll(int fd, absl::string_view content,
                      const std::string& path) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus("cannot write", path);
    content.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status SyncFolderOf(const std::string& path) {
  const std::string folder = ParentFolder(path);
  const File file(folder, O_RDONLY | O_DIRECTORY);
  if (file.fd() < 0 || fsync(file.fd()) != 0) {
    return ErrnoStatus("cannot sync", folder);
  }
  return absl::OkStatus();
}

absl::Status WriteAndSync(const std::string& path, absl::string_view content) {
  const File file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (file.fd() < 0) return ErrnoStatus("cannot create", path);
  RETURN_IF_ERROR(WriteAll(file.fd(), content, path));
  if (fsync(file.fd()) != 0) return ErrnoStatus("cannot sync", path);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const File file(path, O_RDONLY);
  if (file.fd() < 0) return ErrnoStatus("cannot open", path);
  std::string content;
  struct stat info;
  if (fstat(file.fd(), &info) == 0 && info.st_size > 0) {
    content.reserve(static_cast<size_t>(info.st_size) + 1);
  }
  // The size may be 0 (pipes, /proc) or change under us: read to the end.
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = read(file.fd(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("cannot read", path);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
  }
}

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  absl::Status status = WriteAndSync(temporary, content);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus("cannot replace", path);
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return SyncFolderOf(path);
}

bool IsFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& folder,
                                                   absl::string_view ending,
                                                   bool recursive) {
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": cannot list: ", error.message()));
  }
  std::vector<std::string> paths;
  for (; it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (error) {
      return absl::UnavailableError(
          absl::StrCat(folder, ": cannot list: ", error.message()));
    }
    std::error_code ignored;
    const std::string path = it->path().string();
    if (it->is_directory(ignored)) {
      if (!recursive) it.disable_recursion_pending();
    } else if (absl::EndsWith(path, ending)) {
      paths.push_back(path);
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string JoinPath(absl::string_view folder, absl::string_view name) {
  if (folder.empty() || absl::StartsWith(name, "/")) return std::string(name);
  if (absl::EndsWith(folder, "/")) return absl::StrCat(folder, name);
  return absl::StrCat(folder, "/", name);
}

std::string ParentFolder(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

std::string BaseName(absl::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == absl::string_view::npos) return std::string(path);
  return std::string(path.substr(slash + 1));
}

absl::StatusOr<std::string> ProgramPath() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::UnavailableError(
        absl::StrCat("/proc/self/exe: cannot read: ", error.message()));
  }
  return path.string();
}

}  // namespace feedrate
