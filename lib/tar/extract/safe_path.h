// Safe paths: checks names and links of entries, and opens folders so that
// nothing outside of the destination is ever touched.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lib/tar/status.h"

namespace feedrate::tar {

// Why an entry is skipped, in the order of the report.
enum class Skip {
  kNone,
  kDsStore,      // .DS_Store
  kAppleDouble,  // ._* and .AppleDouble
  kMacosx,       // __MACOSX
  kStageFile,    // Our own sentinel or journal: never taken from an archive.
  kStripped,     // Nothing is left after --strip-components.
};
inline constexpr int kSkipKinds = 6;

// Prefix of the files that staging keeps in DIR for its own use.
inline constexpr std::string_view kStagePrefix = ".stage_dataset.";

struct PlacedName {
  // Relative to DIR, without "." or empty parts; empty for DIR itself.
  std::string path;
  Skip skip = Skip::kNone;
  // Why the name must not be used at all. Null means that it may be used.
  const char* refusal = nullptr;
};

// Removes `strip` leading parts and checks the rest for dangerous names and for
// names to skip. Looks only at the name. Any ".." is refused, even one that
// would stay inside: with links in the archive, a name does not tell where it
// leads.
PlacedName PlaceName(std::string_view name, int strip);

// Why a symbolic link at `path` (as placed) to `target` is refused; null when
// it is accepted. The target may start with ".." and then descend. A ".." after
// a name is refused: the name may be a link, with its parent anywhere. With
// this rule for every link, no chain of links leads out.
const char* SymlinkRefusal(std::string_view path, std::string_view target);

// Opens folders below a root, and only there. The kernel resolves every name
// from one open folder and refuses links on the way, so another process cannot
// redirect us by swapping a folder for a link. openat2 (Linux 5.6) does that in
// one call; without it, each part is opened separately. Thread-safe.
class SafeRoot {
 public:
  // Does not own `root_fd`. `use_openat2` is for tests.
  explicit SafeRoot(int root_fd, bool use_openat2 = true)
      : root_fd_(root_fd), use_openat2_(use_openat2) {}

  // Opens the folder at `path` (as returned by PlaceName; empty is the root).
  // The result can only be used for openat() and similar calls. Returns -1 with
  // errno: ELOOP or ENOTDIR when something on the way is not a folder.
  int OpenFolder(const std::string& path) const;

 private:
  int OpenByParts(const std::string& path) const;

  const int root_fd_;
  mutable std::atomic<bool> use_openat2_;
};

// An open folder; closed when the last reference is released.
class Folder {
 public:
  explicit Folder(int fd) : fd_(fd) {}
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  int fd() const { return fd_; }

 private:
  const int fd_;
};

using FolderRef = std::shared_ptr<const Folder>;

// Open folders below the destination, created when they are missing. Archives
// usually list files folder by folder: the last few hundred folders are kept
// open, so that a file costs one open and not a walk from the root. Not
// thread-safe.
class FolderCache {
 public:
  // `before_making` is called with a folder's path before it is created, so
  // that the caller can wait for a file with that name that is still being
  // written.
  FolderCache(int root_fd,
              std::function<void(const std::string&)> before_making);

  // The folder at `path`. Creates it and its parents (mode 0777 minus the
  // umask) if missing.
  Status Get(const std::string& path, FolderRef* folder);

  // The same for an archive entry with its own mode. The owner can always
  // write, because the next entries go there.
  Status Make(const std::string& path, uint32_t mode, FolderRef* folder);

 private:
  struct Slot {
    FolderRef folder;
    std::list<std::string>::iterator use;
  };

  Status Open(const std::string& path, uint32_t mode, FolderRef* folder);
  void Keep(const std::string& path, const FolderRef& folder);

  const SafeRoot root_;
  const std::function<void(const std::string&)> before_making_;
  std::list<std::string> by_use_;  // Most recent first.
  std::unordered_map<std::string, Slot> slots_;
};

}  // namespace feedrate::tar
