// A folder that caches remote data, shared by any number of processes.
//
//   FOLDER/CACHEDIR.TAG             tells backup programs and us what this is
//   FOLDER/blobs/ab/SHA256-CRC32C   an entry's bytes, named by their checksums
//   FOLDER/names/cd/KEY             a link to the blob for the key
//   FOLDER/tmp/OWNER*               files that a process is writing
//   FOLDER/bytes                    approximate total size of the blobs
//
// Invariants:
// 1. A blob appears by rename, complete. Its name says what it must contain;
//    a blob that does not match is removed and never returned (Find, Verify).
// 2. A name is a link that appears by rename. A name whose blob is gone is a
//    miss.
// 3. Files that can be read are never changed, only unlinked. So readers need
// no
//    lock, and a process may be killed at any moment: its unfinished files are
//    in tmp, under a lock that dies with the process, and the next process that
//    opens the folder removes them.
// 4. Space is freed by removing the least recently used blobs, by one process
// at
//    a time. `bytes` is recounted each time, so it may be wrong after a kill,
//    but not for long.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"
#include "lib/hash/sha256.h"

namespace feedrate {

// Temporary files and folders in `folder` that do not outlive their process,
// even if it is killed: their names start with the name of a file that the
// process holds a lock on. The lock dies with the process, and the next process
// that opens the folder removes everything without a living owner. Thread-safe.
class TempSpace {
 public:
  explicit TempSpace(std::string folder) : folder_(std::move(folder)) {}
  // Removes everything that belongs to this process.
  ~TempSpace();

  // Removes what dead processes left behind.
  void SweepOrphans() const;

  // Returns an unused path. Unavailable when no lock file can be created, for
  // example on a full disk; the next call tries again.
  absl::StatusOr<std::string> NewPath();

 private:
  absl::Status TakeOwnership();

  const std::string folder_;
  std::mutex mutex_;
  std::string owner_;  // Empty until the first path is made.
  UniqueFd owner_lock_;
  int64_t paths_ = 0;
};

// Keeps the total size of the blobs within the limit. Processes share it
// through FOLDER/bytes: its content is the total size, and its lock is held by
// the process that changes it. Both may be wrong or lost after a kill; every
// scan of the blobs recounts them. Thread-safe.
class SizeLimiter {
 public:
  // 0 bytes means no limit.
  SizeLimiter(std::string folder, int64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}

  // Counts the blobs, and removes blobs above the limit. PermissionDenied when
  // the folder is not writable, InvalidArgument when a blob is not private.
  absl::Status Open();

  // Reserves `bytes`. Removes the least recently used blobs if the total would
  // exceed the limit. ResourceExhausted when `bytes` alone exceed it.
  absl::Status MakeRoom(int64_t bytes);

  // Number of blobs that this process has removed.
  int64_t evictions() const;

 private:
  int64_t CountAndEvict(int64_t room, absl::Status* trusted);
  void DropDanglingNames() const;

  const std::string folder_;
  const int64_t max_bytes_;
  mutable std::mutex mutex_;
  UniqueFd file_;
  int64_t evictions_ = 0;
};

struct CacheOptions {
  std::string folder;
  // Limit for all entries. 0 means no limit but the disk.
  int64_t max_bytes = 0;
  // Minimum time between two updates of an entry's time of last use.
  double touch_s = 30;
  // Time without further writes after a failed write.
  double pause_s = 30;
};

struct CacheCounts {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t hit_bytes = 0;       // Requested and found.
  int64_t miss_bytes = 0;      // Requested and not found.
  int64_t bad_entries = 0;     // Entries with wrong content; removed.
  int64_t evictions = 0;       // Entries removed by this process to free space.
  int64_t write_failures = 0;  // Entries that could not be written.
};

// Thread-safe.
class CacheDir {
 public:
  // An entry that was found. Stays readable whatever happens to the folder.
  struct Entry {
    UniqueFd fd;
    int64_t bytes = 0;
    std::string blob;  // Its name: SHA256-CRC32C.
    uint32_t crc32c = 0;
  };

  // Creates the folder, for this user only, and removes what dead processes
  // left behind. InvalidArgument when it contains anything other than a cache,
  // or when it or anything in it is not private (lib/base/private_folder.h).
  static absl::StatusOr<std::unique_ptr<CacheDir>> Open(
      const CacheOptions& options);

  // Returns nothing when the key has no entry. Bytes that are read from the
  // entry may only be used if a subsequent Verify returns true, or if they are
  // the whole entry and match its checksum.
  std::optional<Entry> Find(const std::string& key);
  // Reads the whole entry, unless it was verified before and has not changed
  // since. Returns false when the entry is bad; it is removed then.
  bool Verify(const Entry& entry);
  // Removes an entry whose content does not match its name.
  void Remove(const Entry& entry);

  // Stores bytes under `key`. ResourceExhausted when they do not fit, or not at
  // the moment; nothing is stored then.
  absl::Status Insert(const std::string& key, absl::string_view bytes);

  // The same for data that does not fit in memory.
  class Writer {
   public:
    ~Writer();
    // Memory of the entry's file, whose space on the disk is reserved. Call
    // once, and fill it before Commit. REQUIRES: bytes > 0.
    absl::StatusOr<char*> Map(int64_t bytes);
    // Call once. Without it, nothing is stored.
    absl::Status Commit(const std::string& key);

   private:
    friend class CacheDir;
    Writer(CacheDir* cache, std::string temporary, UniqueFd fd)
        : cache_(cache), temporary_(std::move(temporary)), fd_(std::move(fd)) {}
    absl::Status Keep(const std::string& key, absl::string_view bytes);

    CacheDir* const cache_;
    const std::string temporary_;
    UniqueFd fd_;
    char* mapped_ = nullptr;
    int64_t bytes_ = 0;
  };
  // Frees space for `bytes` first.
  absl::StatusOr<std::unique_ptr<Writer>> StartWriting(int64_t bytes);

  // Creates an empty folder that is removed when this process ends.
  absl::StatusOr<std::string> MakeOwnFolder();
  // Adds another path to the entry, in a folder from MakeOwnFolder. Eviction
  // does not remove it.
  absl::Status Link(const Entry& entry, const std::string& path);

  void CountLookup(bool hit, int64_t bytes);
  CacheCounts counts() const;
  const CacheOptions& options() const { return options_; }

 private:
  // What this process knows about a key.
  struct Known {
    std::string blob;
    int64_t touched_ns = 0;
  };
  // What it knows about a blob that it has verified.
  struct Seen {
    uint64_t inode = 0;
    int64_t changed_ns = 0;
    int64_t bytes = 0;
    bool operator==(const Seen& other) const {
      return inode == other.inode && changed_ns == other.changed_ns &&
             bytes == other.bytes;
    }
  };

  explicit CacheDir(const CacheOptions& options);
  absl::Status MakeLayout() const;
  std::string BlobPath(const std::string& blob) const;
  std::string NamePath(const std::string& hash) const;
  std::optional<std::string> BlobOf(const std::string& hash);
  void Touch(const std::string& hash, const std::string& blob);
  absl::Status PutName(const std::string& hash, const std::string& blob);
  // Counts a failure, and pauses further writes for a while.
  absl::Status Failed(absl::string_view what, absl::string_view why);

  const CacheOptions options_;
  TempSpace temp_;
  SizeLimiter space_;
  std::atomic<int64_t> paused_until_ns_{0};

  mutable std::mutex mutex_;
  CacheCounts counts_;
  std::unordered_map<std::string, Known> known_;
  std::unordered_map<std::string, Seen> seen_;
};

}  // namespace feedrate
