// A store whose objects are kept on the local disk once they were read.
#ifndef FEEDRATE_LIB_STORAGE_CACHE_CACHED_STORE_H_
#define FEEDRATE_LIB_STORAGE_CACHE_CACHED_STORE_H_

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

// The part of an object that makes one entry of the cache.
struct CacheBlock {
  int64_t offset = 0;
  int64_t bytes = 0;
};

// What is in the cache is read within StartRead, and `done` is called there.
// What is not is read from the store, as a whole block, and kept before `done`
// is called, from a thread of this class. Reads of a block that is under way
// already wait for it. Where the cache cannot be written to, all comes from
// the store. Thread-safe.
//
// An entry belongs to (url, name, version, block): an object that changes is
// another one.
class CachedStore final : public ObjectStore {
 public:
  CachedStore(std::unique_ptr<ObjectStore> store,
              std::unique_ptr<CacheDir> cache);
  ~CachedStore() override;

  const std::string& url() const override { return store_->url(); }
  absl::StatusOr<std::vector<ObjectInfo>> List() override {
    return store_->List();
  }
  absl::StatusOr<ObjectInfo> Stat(const std::string& name) override {
    return store_->Stat(name);
  }
  // The block is what is asked for.
  void StartRead(const ReadRequest& request,
                 std::function<void(absl::Status)> done) override;
  // REQUIRES: the request lies within `block`. A checksum is the block's.
  void StartBlockRead(const ReadRequest& request, const CacheBlock& block,
                      std::function<void(absl::Status)> done);
  // Of the store behind.
  TransferCounts counts() const override { return store_->counts(); }

  // Whether it could be read without the store.
  bool IsCached(const ReadRequest& request, const CacheBlock& block);

  CacheDir& cache() { return *cache_; }
  ObjectStore& behind() { return *store_; }
  // Of the entry that is the whole of an object.
  std::string WholeKey(const ObjectInfo& object) const;

 private:
  struct Reader {
    ReadRequest request;
    std::function<void(absl::Status)> done;
  };
  // A block on its way, and who waits for it.
  struct Fetch {
    std::string key;
    CacheBlock block;
    char* data = nullptr;            // Of the first reader, or of `buffer`.
    std::unique_ptr<char[]> buffer;  // When the block is more than they want.
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
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Fetch>> under_way_;
  std::condition_variable arrived_;
  std::deque<std::shared_ptr<Fetch>> to_keep_;
  int64_t in_store_ = 0;  // Fetches that the store has not answered.
  bool stopped_ = false;
  std::vector<std::thread> keepers_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_CACHE_CACHED_STORE_H_
