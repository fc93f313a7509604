#include "lib/tar/extract/safe_path.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace feedrate::tar {
namespace {

// Removes the first part of `name` and the slashes after it.
std::string_view TakePart(std::string_view* name) {
  const size_t slash = name->find('/');
  const std::string_view part = name->substr(0, slash);
  const size_t rest = name->find_first_not_of('/', slash);
  *name = slash == std::string_view::npos || rest == std::string_view::npos
              ? std::string_view()
              : name->substr(rest);
  return part;
}

Skip LitterKind(std::string_view part) {
  if (part == ".DS_Store") return Skip::kDsStore;
  if (part == "__MACOSX") return Skip::kMacosx;
  if (part == ".AppleDouble" || part.substr(0, 2) == "._") {
    return Skip::kAppleDouble;
  }
  return Skip::kNone;
}

// Also for what is below such a name: a folder with the sentinel's name could
// never be replaced by it. In any case, because some file systems ignore it.
bool IsStageFile(std::string_view path) {
  if (path.size() < kStagePrefix.size()) return false;
  for (size_t i = 0; i < kStagePrefix.size(); ++i) {
    const char c = path[i];
    const char lower =
        c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower != kStagePrefix[i]) return false;
  }
  return true;
}

}  // namespace

PlacedName PlaceName(std::string_view name, int strip) {
  PlacedName placed;
  if (!name.empty() && name[0] == '/') {
    placed.refusal = "its name is absolute";
    return placed;
  }
  placed.path.reserve(name.size());
  int parts = 0;
  while (!name.empty()) {
    const std::string_view part = TakePart(&name);
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      placed.refusal = "its name holds \"..\"";
      return placed;
    }
    if (placed.skip == Skip::kNone) placed.skip = LitterKind(part);
    if (++parts <= strip) continue;
    if (!placed.path.empty()) placed.path += '/';
    placed.path += part;
  }
  if (placed.skip == Skip::kNone && strip > 0 && parts <= strip) {
    placed.skip = Skip::kStripped;
  }
  if (placed.skip == Skip::kNone && IsStageFile(placed.path)) {
    placed.skip = Skip::kStageFile;
  }
  return placed;
}

const char* SymlinkRefusal(std::string_view path, std::string_view target) {
  if (target[0] == '/') return "it points to an absolute name";
  int depth = 0;  // How deep the folder is that contains the link.
  for (char c : path) depth += c == '/';
  bool descended = false;
  while (!target.empty()) {
    const std::string_view part = TakePart(&target);
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      descended = true;
    } else if (descended) {
      return "it points through a name and then up by \"..\"";
    } else if (--depth < 0) {
      return "it points out of the destination";
    }
  }
  return nullptr;
}

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

int SafeRoot::OpenFolder(const std::string& path) const {
  if (path.empty()) return openat(root_fd_, ".", kFlags);
  if (use_openat2_) {
    const int fd = OpenAt2(root_fd_, path.c_str());
    // Old kernels return ENOSYS; sandboxes that do not know the call return
    // EPERM. EAGAIN means that a rename raced with us.
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != EAGAIN)) {
      return fd;
    }
    if (errno != EAGAIN) use_openat2_ = false;
  }
  return OpenByParts(path);
}

int SafeRoot::OpenByParts(const std::string& path) const {
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

namespace {

// A quarter of the 1024 descriptors that a process may have by default, because
// the writers hold some more.
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
    : root_(root_fd), before_making_(std::move(before_making)) {}

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
  int fd = root_.OpenFolder(path);
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
    fd = root_.OpenFolder(path);
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
