#include "lib/storage/cache/cached_store.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/storage/crc32c.h"

namespace feedrate {
namespace {

// Hashing and writing take about as long as a fast network does to deliver:
// one thread may be writing while the other hashes.
constexpr int kKeepers = 2;

bool PreadAll(int fd, char* out, int64_t bytes, int64_t offset) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t got = pread(fd, out + done, bytes - done, offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += got;
  }
  return true;
}

bool IsWhole(const ReadRequest& request, const CacheBlock& block) {
  return request.offset == block.offset && request.bytes == block.bytes;
}

}  // namespace

CachedStore::CachedStore(std::unique_ptr<ObjectStore> store,
                         std::unique_ptr<CacheDir> cache)
    : store_(std::move(store)), cache_(std::move(cache)) {
  for (int i = 0; i < kKeepers; ++i) {
    keepers_.emplace_back([this] { KeepAll(); });
  }
}

CachedStore::~CachedStore() {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    // The store calls back into this.
    arrived_.wait(lock, [this] { return in_store_ == 0; });
    stopped_ = true;
  }
  arrived_.notify_all();
  for (std::thread& keeper : keepers_) keeper.join();
}

std::string CachedStore::KeyOf(const ReadRequest& request,
                               const CacheBlock& block) const {
  return absl::StrCat(url(), "\n", request.name, "\n", request.version, "\n",
                      block.offset, "+", block.bytes);
}

std::string CachedStore::WholeKey(const ObjectInfo& object) const {
  ReadRequest request;
  request.name = object.name;
  request.version = object.version;
  return KeyOf(request, {0, object.bytes});
}

bool CachedStore::IsCached(const ReadRequest& request,
                           const CacheBlock& block) {
  return cache_->Find(KeyOf(request, block)).has_value();
}

bool CachedStore::ReadCached(const std::string& key, const ReadRequest& request,
                             const CacheBlock& block) {
  const std::optional<CacheDir::Entry> entry = cache_->Find(key);
  if (!entry.has_value()) return false;
  if (entry->bytes != block.bytes) {
    cache_->Remove(*entry);
    return false;
  }
  if (!PreadAll(entry->fd.get(), request.out, request.bytes,
                request.offset - block.offset)) {
    return false;
  }
  // Of a part one cannot tell: all of the block is looked at, once.
  if (!IsWhole(request, block)) return cache_->Verify(*entry);
  const uint32_t crc32c =
      Crc32c({request.out, static_cast<size_t>(request.bytes)});
  if (crc32c == entry->crc32c) return true;
  cache_->Remove(*entry);
  return false;
}

void CachedStore::StartRead(const ReadRequest& request,
                            std::function<void(absl::Status)> done) {
  StartBlockRead(request, {request.offset, request.bytes}, std::move(done));
}

void CachedStore::StartBlockRead(const ReadRequest& request,
                                 const CacheBlock& block,
                                 std::function<void(absl::Status)> done) {
  std::string key = KeyOf(request, block);
  const bool hit = ReadCached(key, request, block);
  cache_->CountLookup(hit, request.bytes);
  if (hit) {
    done(absl::OkStatus());
    return;
  }
  auto fetch = std::make_shared<Fetch>();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<Fetch>& known = under_way_[key];
    if (known != nullptr) {
      known->readers.push_back({request, std::move(done)});
      return;
    }
    known = fetch;
    fetch->key = std::move(key);
    fetch->block = block;
    fetch->readers.push_back({request, std::move(done)});
    ++in_store_;
  }
  StartFetch(fetch, request);
}

void CachedStore::StartFetch(const std::shared_ptr<Fetch>& fetch,
                             const ReadRequest& request) {
  const CacheBlock& block = fetch->block;
  if (IsWhole(request, block)) {
    fetch->data = request.out;
  } else {
    fetch->buffer.reset(new char[block.bytes]);
    fetch->data = fetch->buffer.get();
  }
  ReadRequest whole = request;
  whole.offset = block.offset;
  whole.bytes = block.bytes;
  whole.out = fetch->data;
  store_->StartRead(whole, [this, fetch](absl::Status status) {
    fetch->status = std::move(status);
    // Under the lock to the end: with the last one, this may be destroyed.
    const std::lock_guard<std::mutex> lock(mutex_);
    to_keep_.push_back(fetch);
    --in_store_;
    arrived_.notify_all();
  });
}

void CachedStore::KeepAll() {
  for (;;) {
    std::shared_ptr<Fetch> fetch;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      arrived_.wait(lock, [this] { return stopped_ || !to_keep_.empty(); });
      if (to_keep_.empty()) return;
      fetch = std::move(to_keep_.front());
      to_keep_.pop_front();
    }
    Finish(fetch.get());
  }
}

void CachedStore::Finish(Fetch* fetch) {
  if (fetch->status.ok()) {
    // What cannot be kept is read again next time.
    cache_
        ->Insert(fetch->key,
                 {fetch->data, static_cast<size_t>(fetch->block.bytes)})
        .IgnoreError();
  }
  {
    // From here on nobody joins the readers.
    const std::lock_guard<std::mutex> lock(mutex_);
    under_way_.erase(fetch->key);
  }
  // The first reader's memory may be where the others copy from: it is told
  // last.
  for (size_t i = fetch->readers.size(); i-- > 0;) {
    Reader& reader = fetch->readers[i];
    const ReadRequest& request = reader.request;
    if (fetch->status.ok() && request.out != fetch->data) {
      std::memcpy(request.out,
                  fetch->data + (request.offset - fetch->block.offset),
                  request.bytes);
    }
    reader.done(fetch->status);
  }
}

}  // namespace feedrate
