// Opens folders beneath a root, and only there.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_BENEATH_H_
#define FEEDRATE_LIB_TAR_EXTRACT_BENEATH_H_

#include <atomic>
#include <string>

namespace feedrate::tar {

// Every name is resolved from one open folder by the kernel, which refuses
// links on the way: another process that swaps a folder for a link while we
// work changes nothing. openat2 does that in one call (Linux 5.6); without it,
// each part is opened by itself. Threads may share one.
class Beneath {
 public:
  // Does not own `root_fd`. `use_openat2` is for tests.
  explicit Beneath(int root_fd, bool use_openat2 = true)
      : root_fd_(root_fd), use_openat2_(use_openat2) {}

  // Opens the folder at `path` (as PlaceName gives it; empty is the root), good
  // for openat() and its like alone. Returns -1 with errno: ELOOP or ENOTDIR
  // when something on the way is no folder.
  int OpenFolder(const std::string& path) const;

 private:
  int OpenByParts(const std::string& path) const;

  const int root_fd_;
  mutable std::atomic<bool> use_openat2_;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_BENEATH_H_
