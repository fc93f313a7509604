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
  explicit File(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const File file(path);
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

bool IsFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  // A trailing slash makes create_directories stumble over its own success.
  if (!error || IsFolder(folder)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(folder, ": cannot make this folder: ", error.message()));
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
