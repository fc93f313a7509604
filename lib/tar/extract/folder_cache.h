// Open folders beneath the destination, made when they are missing.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_FOLDER_CACHE_H_
#define FEEDRATE_LIB_TAR_EXTRACT_FOLDER_CACHE_H_

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "lib/tar/extract/beneath.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// An open folder; closed when the last writer lets go of it.
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

// Files come folder by folder, mostly: the last few hundred folders are kept
// open, so that a file costs one open and not a walk from the root. One thread.
class FolderCache {
 public:
  // `before_making` is called with a folder's path before it is made, so that
  // the caller can wait for a file of that name that is still being written.
  FolderCache(int root_fd,
              std::function<void(const std::string&)> before_making);

  // The folder at `path`, made with its parents (mode 0777 less the umask)
  // where missing.
  Status Get(const std::string& path, FolderRef* folder);

  // The same, for an entry of the archive with a mode of its own. The owner
  // can always write: the next entries go there.
  Status Make(const std::string& path, uint32_t mode, FolderRef* folder);

 private:
  struct Slot {
    FolderRef folder;
    std::list<std::string>::iterator use;
  };

  Status Open(const std::string& path, uint32_t mode, FolderRef* folder);
  void Keep(const std::string& path, const FolderRef& folder);

  const Beneath beneath_;
  const std::function<void(const std::string&)> before_making_;
  std::list<std::string> by_use_;  // The latest first.
  std::unordered_map<std::string, Slot> slots_;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_FOLDER_CACHE_H_
