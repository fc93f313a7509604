// The folder that a data set is staged into, locked.
#ifndef FEEDRATE_LIB_TAR_STAGE_DESTINATION_H_
#define FEEDRATE_LIB_TAR_STAGE_DESTINATION_H_

#include <functional>
#include <string>

#include "lib/tar/status.h"

namespace feedrate::tar {

// Any number of processes may stage into one folder: one does, the others
// wait. The lock is the kernel's and on the folder itself: it goes with the
// process, however that ends, and leaves no file behind.
class Destination {
 public:
  Destination() = default;
  ~Destination();
  Destination(const Destination&) = delete;
  Destination& operator=(const Destination&) = delete;

  // Makes the folder with its parents if need be, and opens it.
  Status Open(const std::string& path);

  // Waits for the lock; calls `on_wait` once if another process has it.
  Status Lock(const std::function<void()>& on_wait);

  // Everything on the folder's file system to disk.
  Status Sync();

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_DESTINATION_H_
