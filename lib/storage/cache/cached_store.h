// A store whose objects are cached on the local disk.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/storage/cache/cache_dir.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// The part of an object that is one cache entry.
struct CacheBlock {
  int64_t offset = 0;
  int64_t bytes = 0;
};

// StartRead reads cached blocks immediately and calls `done` before it returns.
// Other blocks are fetched whole from the store and cached before `done` is
// called, from a thread of this class. Reads of a block that is already being
// fetched wait for it. When the cache cannot be written, everything comes from
// the store. Thread-safe.
//
// The key of an entry is (identity, name, version, block), so a changed object
// gets new entries. Where the server does not send a version, nobody can tell
// whether the object has changed: such entries are only found by the object
// that made them.
class CachedStore final : public ObjectStore {
 public:
  CachedStore(std::unique_ptr<ObjectStore> store,
              std::unique_ptr<CacheDir> cache);
  // Ends all reads with CANCELLED.
  ~CachedStore() override;

  const std::string& url() const override { return store_->url(); }
  std::string identity() const override { return identity_; }
  absl::StatusOr<std::vector<ObjectInfo>> List() override {
    return store_->List();
  }
  absl::StatusOr<ObjectInfo> Stat(const std::string& name) override {
    return store_->Stat(name);
  }
  // Uses the requested range as the block.
  void StartRead(const ReadRequest& request,
                 std::function<void(absl::Status)> done) override;
  // REQUIRES: the request lies within `block`. The request's checksum is that
  // of the block.
  void StartBlockRead(const ReadRequest& request, const CacheBlock& block,
                      std::function<void(absl::Status)> done);
  void SetCancelled(bool cancelled) override {
    store_->SetCancelled(cancelled);
  }
  // Counts of the underlying store.
  TransferCounts counts() const override { return store_->counts(); }

  // Whether the request could be read from the cache.
  bool IsCached(const ReadRequest& request, const CacheBlock& block);

  CacheDir& cache() { return *cache_; }
  ObjectStore& behind() { return *store_; }
  // The key of the entry for a whole object.
  std::string WholeKey(const ObjectInfo& object) const;

 private:
  struct Reader {
    ReadRequest request;
    std::function<void(absl::Status)> done;
  };
  // A block that is being fetched, and the reads that wait for it.
  struct Fetch {
    std::string key;
    CacheBlock block;
    char* data = nullptr;  // The first reader's memory, or `buffer`.
    std::unique_ptr<char[]>
        buffer;  // Set when the block is larger than the read.
    absl::Status status;
    std::vector<Reader> readers;
  };

  std::string KeyOf(const ReadRequest& request, const CacheBlock& block) const;
  bool ReadCached(const std::string& key, const ReadRequest& request,
                  const CacheBlock& block);
  void StartFetch(const std::shared_ptr<Fetch>& fetch,
                  const ReadRequest& request);
  void KeepAll();
  void Finish(Fetch* fetch);

  const std::unique_ptr<ObjectStore> store_;
  const std::unique_ptr<CacheDir> cache_;
  const std::string identity_;
  const std::string own_version_;  // Random; for objects without a version.
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Fetch>> under_way_;
  std::condition_variable arrived_;
  std::deque<std::shared_ptr<Fetch>> to_keep_;
  int64_t in_store_ = 0;  // Fetches that the store has not completed.
  bool stopped_ = false;
  std::vector<std::thread> keepers_;
};

// How local files are named. kNumbers: object 42 becomes 000003/00000042.jpg;
// all objects of one folder (which may stand for a class) are in one local
// folder, and sorted paths are in the order of the objects. kOwn: like the
// objects, for data sets whose names have a meaning.
enum class LocalNames { kNumbers, kOwn };

struct LocalSet {
  std::string folder;
  std::vector<std::string> paths;
};

// Reads all objects into the cache and gives each a path below one folder, for
// programs that can only read files. The files exist as long as `store`,
// whatever the cache evicts in the meantime. `progress` may be null.
//
// ResourceExhausted when the objects do not fit into the cache (nothing is
// fetched then) or when the disk is full. InvalidArgument when, with kOwn, an
// object's name cannot be a file name.
absl::StatusOr<LocalSet> CacheAsFiles(
    const std::vector<ObjectInfo>& objects, LocalNames names,
    CachedStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace feedrate
