// Keeps the blobs of a cache within their limit.
#ifndef FEEDRATE_LIB_STORAGE_CACHE_SPACE_KEEPER_H_
#define FEEDRATE_LIB_STORAGE_CACHE_SPACE_KEEPER_H_

#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// Shared by all processes of a cache through FOLDER/bytes: its content is what
// the blobs add up to, its lock is for whoever changes that. Both may be wrong
// or lost after a kill; every look at the blobs counts them anew. Thread-safe.
class SpaceKeeper {
 public:
  // 0 bytes: no limit.
  SpaceKeeper(std::string folder, int64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Counts the blobs, and removes what is too much. PermissionDenied when the
  // folder cannot be written to.
  absl::Status Open();

  // Reserves `bytes`; removes blobs that were used longest ago when that is too
  // much together. ResourceExhausted when they alone are.
  absl::Status MakeRoom(int64_t bytes);

  // Blobs that this process has removed.
  int64_t evictions() const;

 private:
  int64_t CountAndEvict(int64_t room);
  void DropDanglingNames() const;

  const std::string folder_;
  const int64_t max_bytes_;
  mutable std::mutex mutex_;
  UniqueFd file_;
  int64_t evictions_ = 0;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_CACHE_SPACE_KEEPER_H_
