#include "lib/tar/extract/folder_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "lib/tar/error.h"

namespace feedrate::tar {
namespace {

// A quarter of the 1024 descriptors that a process may have by default: writers
// hold some more.
constexpr size_t kMaxOpen = 256;

Status OpenFailure(const std::string& path, int error) {
  if (error == ELOOP || error == ENOTDIR) {
    return Failed("folder " + Quote(path) +
                  ": something on the way is a link or a file; nothing is "
                  "written through it");
  }
  return SystemFailure("cannot open folder", path, error);
}

}  // namespace

Folder::~Folder() { close(fd_); }

FolderCache::FolderCache(int root_fd,
                         std::function<void(const std::string&)> before_making)
    : beneath_(root_fd), before_making_(std::move(before_making)) {}

Status FolderCache::Get(const std::string& path, FolderRef* folder) {
  if (!by_use_.empty() && by_use_.front() == path) {
    *folder = slots_.find(path)->second.folder;
    return Status();
  }
  return Make(path, 0777, folder);
}

Status FolderCache::Make(const std::string& path, uint32_t mode,
                         FolderRef* folder) {
  const auto found = slots_.find(path);
  if (found != slots_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second.use);
    *folder = found->second.folder;
    return Status();
  }
  TAR_RETURN_IF_ERROR(Open(path, mode, folder));
  Keep(path, *folder);
  return Status();
}

Status FolderCache::Open(const std::string& path, uint32_t mode,
                         FolderRef* folder) {
  int fd = beneath_.OpenFolder(path);
  if (fd < 0 && errno == ENOENT && !path.empty()) {
    const size_t slash = path.rfind('/');
    const bool top = slash == std::string::npos;
    FolderRef parent;
    TAR_RETURN_IF_ERROR(Get(top ? "" : path.substr(0, slash), &parent));
    before_making_(path);
    const char* leaf = path.c_str() + (top ? 0 : slash + 1);
    if (mkdirat(parent->fd(), leaf, (mode & 0777) | 0700) != 0 &&
        errno != EEXIST) {
      return SystemFailure("cannot make folder", path, errno);
    }
    fd = beneath_.OpenFolder(path);
  }
  if (fd < 0) return OpenFailure(path, errno);
  *folder = std::make_shared<Folder>(fd);
  return Status();
}

void FolderCache::Keep(const std::string& path, const FolderRef& folder) {
  if (slots_.size() >= kMaxOpen) {
    slots_.erase(by_use_.back());
    by_use_.pop_back();
  }
  by_use_.push_front(path);
  slots_[path] = {folder, by_use_.begin()};
}

}  // namespace feedrate::tar
