#include "lib/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

namespace fs = std::filesystem;

absl::Status Failed(absl::string_view what, const std::string& path) {
  const int error = errno;
  const std::string text =
      absl::StrCat(path, ": cannot ", what, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(text);
  if (error == EISDIR || error == ENAMETOOLONG || error == ELOOP) {
    return absl::InvalidArgumentError(text);
  }
  if (error == EFBIG) {
    return absl::UnavailableError(absl::StrCat(
        text, "; raise the limit on the size of files (ulimit -f)"));
  }
  return absl::UnavailableError(text);
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return Failed("open", path);
  RETURN_IF_ERROR(CheckHasEnd(path, file.get()));
  std::string content;
  struct stat info;
  if (fstat(file.get(), &info) == 0 && info.st_size > 0) {
    const int64_t memory =
        int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    if (info.st_size >= memory) {
      return absl::ResourceExhaustedError(absl::StrCat(
          path, ": its ", info.st_size, " bytes do not fit into memory"));
    }
    content.reserve(static_cast<size_t>(info.st_size) + 1);
  }
  // The size may be 0 (pipes, /proc) or change while we read, so read to the
  // end.
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = read(file.get(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
  }
}

absl::StatusOr<int64_t> PlainFileBytes(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return Failed("look at", path);
  if (S_ISREG(info.st_mode)) return info.st_size;
  const char* const what = S_ISFIFO(info.st_mode)   ? "a named pipe"
                           : S_ISSOCK(info.st_mode) ? "a socket"
                           : S_ISDIR(info.st_mode)  ? "a folder"
                                                    : "a device";
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": is ", what, "; only plain files are data, so remove it"));
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
  // With a trailing slash create_directories reports an error although it
  // succeeded.
  if (!error || IsFolder(folder)) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat(folder, ": cannot make this folder: ", error.message()));
}

absl::StatusOr<std::vector<std::string>> ListPlainFiles(
    const std::string& folder, absl::string_view ending) {
  ASSIGN_OR_RETURN(std::vector<std::string> paths,
                   ListFiles(folder, ending, /*recursive=*/true));
  paths.erase(std::remove_if(paths.begin(), paths.end(),
                             [](const auto& path) { return !IsFile(path); }),
              paths.end());
  return paths;
}

namespace {

using FolderId = std::pair<dev_t, ino_t>;

FolderId IdOf(const fs::path& folder) {
  struct stat info = {};
  stat(folder.c_str(), &info);
  return {info.st_dev, info.st_ino};
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ListFiles(
    const std::string& folder, absl::string_view ending, bool recursive,
    std::vector<std::string>* loops) {
  std::error_code error;
  fs::recursive_directory_iterator it(
      folder, fs::directory_options::follow_directory_symlink, error);
  if (error) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": cannot list: ", error.message()));
  }
  std::vector<std::string> paths;
  // The folders that the current one is in.
  std::vector<FolderId> above = {IdOf(folder)};
  for (; it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (error) {
      return absl::UnavailableError(
          absl::StrCat(folder, ": cannot list: ", error.message()));
    }
    std::error_code ignored;
    const std::string path = it->path().string();
    if (!it->is_directory(ignored)) {
      if (absl::EndsWith(path, ending)) paths.push_back(path);
      continue;
    }
    const FolderId id = IdOf(it->path());
    above.resize(it.depth() + 1);
    const bool is_loop =
        std::find(above.begin(), above.end(), id) != above.end();
    if (is_loop && loops != nullptr) loops->push_back(path);
    if (is_loop || !recursive) it.disable_recursion_pending();
    above.push_back(id);
  }
  std::sort(paths.begin(), paths.end());
  if (loops != nullptr) std::sort(loops->begin(), loops->end());
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

std::string FileNameOf(absl::string_view text) {
  constexpr absl::string_view kPlain = "-_.,:=+@";
  // No text is empty after this, and no other text gives it.
  if (text.empty()) return "%";
  std::string name;
  for (const char c : text) {
    const bool is_plain =
        absl::ascii_isalnum(c) ||
        (kPlain.find(c) != kPlain.npos && !(c == '.' && name.empty()));
    if (is_plain) {
      name += c;
    } else {
      absl::StrAppend(
          &name, "%",
          absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return name;
}

absl::Status CheckStaysBelow(absl::string_view path) {
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty() || part == "." || part == ".." ||
        absl::StrContains(part, '\0')) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", path,
                       "\" is not a path below a folder; it must be relative, "
                       "without empty parts, `.` and `..`"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNotCompressed(absl::string_view name,
                                absl::string_view content) {
  constexpr struct {
    absl::string_view start;
    const char* format;
    const char* unpack;
  } kFormats[] = {{"\x1f\x8b", "gzip", "gunzip"},
                  {"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
                  {"\xfd"
                   "7zXZ",
                   "xz", "unxz"},
                  {"BZh", "bzip2", "bunzip2"},
                  {"\x1f\x9d", "compress", "uncompress"},
                  {"\x04\x22\x4d\x18", "lz4", "unlz4"},
                  {absl::string_view("]\0\0", 3), "lzma", "unlzma"},
                  {"PK\x03\x04", "zip", "unzip"}};
  for (const char* const mark : {"\xff\xfe", "\xfe\xff"}) {
    if (!absl::StartsWith(content, mark)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": is UTF-16; write it as UTF-8, such as with iconv"));
  }
  for (const auto& [start, format, unpack] : kFormats) {
    if (!absl::StartsWith(content, start)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": is compressed with ", format,
                     "; unpack it first, with ", unpack));
  }
  return absl::OkStatus();
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

namespace {

// Whether `path` is a device, pipe or socket. Folders are not special; writing
// to them fails later.
bool IsSpecial(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) &&
         !S_ISDIR(info.st_mode);
}

}  // namespace

absl::StatusOr<std::unique_ptr<NewFile>> NewFile::Create(
    const std::string& path) {
  if (IsSpecial(path)) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return Failed("open", path);
    return std::unique_ptr<NewFile>(new NewFile(path, "", fd));
  }
  static std::atomic<int> files{0};
  std::string temporary =
      absl::StrCat(path, ".", getpid(), ".", files++, ".tmp");
  // What is there already is left from a killed process, or a trap.
  unlink(temporary.c_str());
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  int fd = open(temporary.c_str(), kFlags, 0644);
  if (fd < 0 && errno == ENOENT) {
    RETURN_IF_ERROR(MakeFolder(ParentFolder(path)));
    fd = open(temporary.c_str(), kFlags, 0644);
  }
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

absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content) {
  ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(path));
  RETURN_IF_ERROR(WriteAll(file->fd(), content, path));
  return file->Commit();
}

}  // namespace feedrate
