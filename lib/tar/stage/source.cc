#include "lib/tar/stage/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "lib/tar/stage/remote.h"

namespace feedrate::tar {
namespace {

constexpr std::string_view kFileScheme = "file://";

std::string Decimal(int64_t seconds, int32_t nanoseconds) {
  char text[48];
  snprintf(text, sizeof(text), "%lld.%09d", static_cast<long long>(seconds),
           nanoseconds);
  return text;
}

std::string FileIdentity(const std::string& path, const struct stat& info) {
  return "file " + path + " size " + std::to_string(info.st_size) + " mtime " +
         Decimal(info.st_mtim.tv_sec,
                 static_cast<int32_t>(info.st_mtim.tv_nsec));
}

std::string AbsolutePath(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  std::string absolute = resolved != nullptr ? resolved : path;
  free(resolved);
  return absolute;
}

}  // namespace

Source::~Source() {
  if (fd_ > 0) close(fd_);
}

Status Source::Open(const std::string& text) {
  if (text == "-") {
    kind_ = Kind::kStdin;
    fd_ = STDIN_FILENO;
    name_ = "stdin";
    return Status();
  }
  if (IsRemote(text)) return OpenRemote(text);
  if (text.compare(0, kFileScheme.size(), kFileScheme) == 0) {
    const std::string path = text.substr(kFileScheme.size());
    if (path.empty() || path[0] != '/') {
      return CallersMistake("--source=" + text +
                            ": want file:/// and an absolute path");
    }
    return OpenPath(path);
  }
  const size_t scheme = text.find("://");
  if (scheme != std::string::npos && access(text.c_str(), F_OK) != 0) {
    return CallersMistake("--source=" + text + ": " + text.substr(0, scheme) +
                          ":// is unknown; use a path, -, file://, https://, "
                          "gs:// or s3://");
  }
  return OpenPath(text);
}

Status Source::OpenPath(const std::string& path) {
  name_ = AbsolutePath(path);
  // O_NONBLOCK: a named pipe must not hang us before we have looked at it.
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0 && errno == ENOENT) {
    return CallersMistake("--source=" + path + ": there is no such file");
  }
  struct stat info;
  if (fd_ < 0 || fstat(fd_, &info) != 0) {
    return SystemFailure("cannot read", path, errno);
  }
  if (S_ISDIR(info.st_mode)) return OpenFolder(path);
  if (!S_ISREG(info.st_mode)) {
    return CallersMistake("--source=" + path +
                          ": neither a file nor a folder; for a pipe use "
                          "--source=- and redirect it");
  }
  kind_ = Kind::kFile;
  size_ = info.st_size;
  identity_ = FileIdentity(name_, info);
  return Status();
}

Status Source::OpenFolder(const std::string& path) {
  kind_ = Kind::kFolder;
  TreeSummary summary;
  TAR_RETURN_IF_ERROR(SummarizeTree(fd_, name_, &summary));
  size_ = summary.bytes;
  identity_ = "folder " + name_ + " count " + std::to_string(summary.count) +
              " bytes " + std::to_string(summary.bytes) + " newest " +
              Decimal(summary.newest.seconds, summary.newest.nanoseconds);
  return Status();
}

Status Source::OpenRemote(const std::string& url) {
  kind_ = Kind::kRemote;
  name_ = url;
  RemoteInfo info;
  TAR_RETURN_IF_ERROR(DescribeRemote(url, &info));
  size_ = info.size;
  if (info.size && !info.version.empty()) {
    identity_ = "url " + url + " size " + std::to_string(*info.size) +
                " version " + info.version;
  }
  return Status();
}

Status Source::CheckUnchanged() const {
  if (kind_ != Kind::kFile) return Status();
  struct stat info;
  if (fstat(fd_, &info) == 0 && FileIdentity(name_, info) == identity_) {
    return Status();
  }
  return Failed(name_ + " changed while it was staged; run again");
}

}  // namespace feedrate::tar
