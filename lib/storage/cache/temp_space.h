// Where a process of a cache writes what is not whole yet.
#ifndef FEEDRATE_LIB_STORAGE_CACHE_TEMP_SPACE_H_
#define FEEDRATE_LIB_STORAGE_CACHE_TEMP_SPACE_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// Files and folders in `folder` that are gone when their process is, killed or
// not: their names begin like that of a file which the process holds a lock on.
// A lock dies with its process, and whoever opens the folder next sweeps out
// what has no living owner. Thread-safe.
class TempSpace {
 public:
  explicit TempSpace(std::string folder) : folder_(std::move(folder)) {}
  // Removes all that is this process's.
  ~TempSpace();

  // Removes what dead processes left.
  void SweepOrphans() const;

  // A path that nobody uses. Unavailable when no lock can be made, as on a full
  // disk; the next call tries again.
  absl::StatusOr<std::string> NewPath();

 private:
  absl::Status TakeOwnership();

  const std::string folder_;
  std::mutex mutex_;
  std::string owner_;  // Empty: none yet.
  UniqueFd owner_lock_;
  int64_t paths_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_CACHE_TEMP_SPACE_H_
