#include "lib/tar/stage/destination.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace feedrate::tar {
namespace {

// As mkdir -p does.
int MakeFolders(const std::string& path) {
  for (size_t end = 1; end <= path.size(); ++end) {
    if (end < path.size() && path[end] != '/') continue;
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), 0777) == 0 || errno == EEXIST) continue;
    // A parent that is there may still forbid the asking.
    struct stat info;
    const int error = errno;
    if (stat(part.c_str(), &info) != 0) return error;
  }
  return 0;
}

}  // namespace

Destination::~Destination() {
  if (fd_ >= 0) close(fd_);
}

Status Destination::Open(const std::string& path) {
  path_ = path;
  const int error = MakeFolders(path);
  if (error != 0) return SystemFailure("cannot make folder", path, error);
  fd_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd_ < 0 && errno == ENOTDIR) {
    return CallersMistake("--dest=" + path + " is not a folder");
  }
  if (fd_ < 0) return SystemFailure("cannot open", path, errno);
  return Status();
}

Status Destination::Lock(const std::function<void()>& on_wait) {
  int result = flock(fd_, LOCK_EX | LOCK_NB);
  if (result != 0 && errno == EWOULDBLOCK) {
    on_wait();
    do {
      result = flock(fd_, LOCK_EX);
    } while (result != 0 && errno == EINTR);
  }
  if (result != 0) return SystemFailure("cannot lock", path_, errno);
  return Status();
}

Status Destination::Sync() {
  if (syncfs(fd_) == 0) return Status();
  return SystemFailure("cannot sync", path_, errno);
}

}  // namespace feedrate::tar
