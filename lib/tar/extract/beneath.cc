#include "lib/tar/extract/beneath.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace feedrate::tar {
namespace {

constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

int OpenAt2(int root_fd, const char* path) {
  struct open_how how = {};
  how.flags = kFlags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(
      syscall(SYS_openat2, root_fd, path, &how, sizeof(how)));
}

}  // namespace

int Beneath::OpenFolder(const std::string& path) const {
  if (path.empty()) return openat(root_fd_, ".", kFlags);
  if (use_openat2_) {
    const int fd = OpenAt2(root_fd_, path.c_str());
    // Old kernels say ENOSYS, sandboxes that do not know the call EPERM. EAGAIN
    // is a rename that raced with us.
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN)) {
      return fd;
    }
    if (errno != EAGAIN) use_openat2_ = false;
  }
  return OpenByParts(path);
}

int Beneath::OpenByParts(const std::string& path) const {
  int fd = openat(root_fd_, ".", kFlags);
  size_t begin = 0;
  while (fd >= 0 && begin < path.size()) {
    size_t end = path.find('/', begin);
    if (end == std::string::npos) end = path.size();
    const std::string part = path.substr(begin, end - begin);
    const int next = openat(fd, part.c_str(), kFlags);
    const int error = errno;
    close(fd);
    errno = error;
    fd = next;
    begin = end + 1;
  }
  return fd;
}

}  // namespace feedrate::tar
