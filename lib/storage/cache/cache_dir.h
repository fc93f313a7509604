// A folder of bytes that were once far away, shared by any number of processes.
//
//   FOLDER/CACHEDIR.TAG             says to backups and to us what this is
//   FOLDER/blobs/ab/SHA256-CRC32C   an entry: bytes, named by what they are
//   FOLDER/names/cd/KEY             a link to the blob that the key stands for
//   FOLDER/tmp/OWNER*               what a process is writing
//   FOLDER/bytes                    what the blobs add up to, about
//
// Invariants:
// 1. A blob appears by rename, whole. Its name says what it must hold; bytes
//    that differ are never given out, but removed (Find, Verify).
// 2. A name is a link that appears by rename. One whose blob is gone is a miss.
// 3. Nothing that is read is ever changed; it may only be unlinked. So readers
//    take no lock, and a process may be killed at any moment: what it was
//    writing lies in tmp, under a lock that dies with it, and the next process
//    that opens the folder sweeps it out.
// 4. Space is kept by removing the blobs that were used longest ago, by one
//    process at a time. `bytes` is counted anew each time, so that it may be
//    wrong after a kill, but not for long.
#ifndef FEEDRATE_LIB_STORAGE_CACHE_CACHE_DIR_H_
#define FEEDRATE_LIB_STORAGE_CACHE_CACHE_DIR_H_

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
#include "lib/storage/cache/space_keeper.h"
#include "lib/storage/cache/temp_space.h"

namespace feedrate {

struct CacheOptions {
  std::string folder;
  // That the entries may take. 0: no limit but the disk.
  int64_t max_bytes = 0;
  // An entry's time of use is written down at most so often.
  double touch_s = 30;
  // After a write that failed, none is tried for so long.
  double pause_s = 30;
};

struct CacheCounts {
  int64_t hits = 0;
  int64_t misses = 0;
  int64_t hit_bytes = 0;       // That were asked for and found.
  int64_t miss_bytes = 0;      // That were asked for and not.
  int64_t bad_entries = 0;     // Found not to hold what they should; removed.
  int64_t evictions = 0;       // Removed for room, by this process.
  int64_t write_failures = 0;  // Entries that could not be written.
};

// Thread-safe.
class CacheDir {
 public:
  // An entry that was found; stays readable whatever becomes of the folder.
  struct Entry {
    UniqueFd fd;
    int64_t bytes = 0;
    std::string blob;  // Its name: SHA256-CRC32C.
    uint32_t crc32c = 0;
  };

  // Makes the folder, and sweeps out what dead processes left. InvalidArgument
  // when it holds other things than a cache.
  static absl::StatusOr<std::unique_ptr<CacheDir>> Open(
      const CacheOptions& options);

  // Nothing when the key has no entry. What is read of it may only be used when
  // a Verify that follows says so, or when it is all of the entry and has its
  // checksum.
  std::optional<Entry> Find(const std::string& key);
  // Reads the entry once through unless that was done, and it has not been
  // changed since. False: it is bad, and is removed.
  bool Verify(const Entry& entry);
  // The entry does not hold what its name says.
  void Remove(const Entry& entry);

  // Puts bytes under `key`. ResourceExhausted when they do not fit, or not now;
  // nothing of them stays then.
  absl::Status Insert(const std::string& key, absl::string_view bytes);

  // The same for more than memory holds.
  class Writer {
   public:
    ~Writer();
    absl::Status Append(absl::string_view bytes);
    // Once, after the last. Without, nothing stays.
    absl::Status Commit(const std::string& key);

   private:
    friend class CacheDir;
    Writer(CacheDir* cache, std::string temporary, UniqueFd fd)
        : cache_(cache), temporary_(std::move(temporary)), fd_(std::move(fd)) {}

    CacheDir* const cache_;
    const std::string temporary_;
    UniqueFd fd_;
    Sha256 sha256_;
    uint32_t crc32c_ = 0;
    int64_t bytes_ = 0;
  };
  // Room for `bytes` is made first.
  absl::StatusOr<std::unique_ptr<Writer>> StartWriting(int64_t bytes);

  // An empty folder of this process's own, gone when the process is.
  absl::StatusOr<std::string> MakeOwnFolder();
  // A further path to the entry, which eviction does not take away. In a folder
  // of MakeOwnFolder.
  absl::Status Link(const Entry& entry, const std::string& path);

  void CountLookup(bool hit, int64_t bytes);
  CacheCounts counts() const;
  const CacheOptions& options() const { return options_; }

 private:
  // What this process knows of a key.
  struct Known {
    std::string blob;
    int64_t touched_ns = 0;
  };
  // And of a blob whose bytes it has seen.
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
  // Counts a failure, and lets some time pass before the next.
  absl::Status Failed(absl::string_view what, absl::string_view why);

  const CacheOptions options_;
  TempSpace temp_;
  SpaceKeeper space_;
  std::atomic<int64_t> paused_until_ns_{0};

  mutable std::mutex mutex_;
  CacheCounts counts_;
  std::unordered_map<std::string, Known> known_;
  std::unordered_map<std::string, Seen> seen_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_CACHE_CACHE_DIR_H_
