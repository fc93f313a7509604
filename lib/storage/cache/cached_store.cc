#include "lib/storage/cache/cached_store.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/storage/checksum.h"

namespace feedrate {
namespace {

// Hashing and writing take about as long as receiving from a fast network: one
// thread may write while the other hashes.
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

std::string NewVersion() {
  std::random_device random;
  return absl::StrFormat("none %08x%08x%08x", random(), random(), random());
}

bool IsWhole(const ReadRequest& request, const CacheBlock& block) {
  return request.offset == block.offset && request.bytes == block.bytes;
}

}  // namespace

CachedStore::CachedStore(std::unique_ptr<ObjectStore> store,
                         std::unique_ptr<CacheDir> cache)
    : store_(std::move(store)),
      cache_(std::move(cache)),
      identity_(store_->identity()),
      own_version_(NewVersion()) {
  for (int i = 0; i < kKeepers; ++i) {
    keepers_.emplace_back([this] { KeepAll(); });
  }
}

CachedStore::~CachedStore() {
  store_->SetCancelled(true);
  {
    std::unique_lock<std::mutex> lock(mutex_);
    // The store calls back into this object.
    arrived_.wait(lock, [this] { return in_store_ == 0; });
    stopped_ = true;
  }
  arrived_.notify_all();
  for (std::thread& keeper : keepers_) keeper.join();
}

std::string CachedStore::KeyOf(const ReadRequest& request,
                               const CacheBlock& block) const {
  return absl::StrCat(identity_, "\n", request.name, "\n",
                      request.version.empty() ? own_version_ : request.version,
                      "\n", block.offset, "+", block.bytes);
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
  // A part cannot be verified alone: the whole block is verified, once.
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
    // Holds the lock to the end: after the last fetch, this object may be
    // destroyed.
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
    // What cannot be cached is fetched again next time.
    cache_
        ->Insert(fetch->key,
                 {fetch->data, static_cast<size_t>(fetch->block.bytes)})
        .IgnoreError();
  }
  {
    // From here on no further reader joins.
    const std::lock_guard<std::mutex> lock(mutex_);
    under_way_.erase(fetch->key);
  }
  // The others may copy from the first reader's memory, so the first reader is
  // notified last.
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

namespace {

// Objects up to this total size are read at once.
constexpr int64_t kAtOnce = int64_t{128} << 20;
// The longest part of a path on every common file system.
constexpr size_t kLongestName = 255;

// "a/b/c.tar" -> ".tar". Keeps only the extension, which programs look at; the
// rest of an object's name may not be a valid file name.
std::string EndingOf(const std::string& name) {
  const std::string base = BaseName(name);
  const size_t dot = base.rfind('.');
  if (dot == std::string::npos || base.size() - dot > 8) return "";
  return base.substr(dot);
}

std::string NumberedFolder(const std::string& folder, int number) {
  return JoinPath(folder, absl::StrFormat("%06d", number));
}

// Creates paths for objects, one after another, with their folders.
class LocalPaths {
 public:
  LocalPaths(std::string folder, LocalNames names)
      : folder_(std::move(folder)), names_(names) {}

  absl::StatusOr<std::string> Next(const std::string& name) {
    return names_ == LocalNames::kOwn ? OwnPath(name) : NumberedPath(name);
  }

 private:
  absl::StatusOr<std::string> NumberedPath(const std::string& name) {
    const std::string parent = ParentFolder(name);
    if (objects_ == 0 || parent != last_parent_) {
      RETURN_IF_ERROR(MakeFolder(NumberedFolder(folder_, folders_++)));
    }
    last_parent_ = parent;
    return JoinPath(NumberedFolder(folder_, folders_ - 1),
                    absl::StrFormat("%08d%s", objects_++, EndingOf(name)));
  }

  absl::StatusOr<std::string> OwnPath(const std::string& name) const {
    const std::vector<std::string> parts = absl::StrSplit(name, '/');
    bool is_name =
        CheckStaysBelow(name).ok() && name.find('\0') == std::string::npos;
    for (const std::string& part : parts)
      is_name &= part.size() <= kLongestName;
    if (!is_name) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", absl::CEscape(name), "\" cannot be a file's name here"));
    }
    std::string path = folder_;
    for (size_t i = 0; i < parts.size(); ++i) {
      path = JoinPath(path, parts[i]);
      if (i + 1 < parts.size()) RETURN_IF_ERROR(MakeFolder(path));
    }
    return path;
  }

  const std::string folder_;
  const LocalNames names_;
  int64_t objects_ = 0;
  int folders_ = 0;
  std::string last_parent_;
};

absl::Status FetchLarge(const ObjectInfo& object, CachedStore* store) {
  const std::optional<CacheDir::Entry> entry =
      store->cache().Find(store->WholeKey(object));
  if (entry.has_value() && store->cache().Verify(*entry)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<CacheDir::Writer> writer,
                   store->cache().StartWriting(object.bytes));
  // As one read, which keeps to one version and compares checksums.
  ReadRequest request;
  request.name = object.name;
  request.version = object.version;
  request.checksum = object.checksum;
  request.bytes = request.object_bytes = object.bytes;
  ASSIGN_OR_RETURN(request.out, writer->Map(object.bytes));
  RETURN_IF_ERROR(store->behind().Read(request));
  return writer->Commit(store->WholeKey(object));
}

absl::Status CheckRoom(const std::vector<ObjectInfo>& objects,
                       const CacheOptions& options) {
  int64_t bytes = 0;
  for (const ObjectInfo& object : objects) bytes += object.bytes;
  if (options.max_bytes == 0 || bytes <= options.max_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      options.folder, ": the data has ", bytes, " bytes, and --cache_bytes is ",
      options.max_bytes, "; allow more, or ask for fewer items"));
}

}  // namespace

absl::StatusOr<LocalSet> CacheAsFiles(
    const std::vector<ObjectInfo>& objects, LocalNames names,
    CachedStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress) {
  CacheDir& cache = store->cache();
  RETURN_IF_ERROR(CheckRoom(objects, cache.options()));
  LocalSet set;
  ASSIGN_OR_RETURN(set.folder, cache.MakeOwnFolder());
  std::vector<std::string> contents;
  LocalPaths paths(set.folder, names);
  for (size_t begin = 0, end; begin < objects.size(); begin = end) {
    end = EndOfRun(objects, begin, kAtOnce);
    if (end == begin + 1 && objects[begin].bytes > kAtOnce) {
      RETURN_IF_ERROR(FetchLarge(objects[begin], store));
    } else {
      RETURN_IF_ERROR(ReadObjects(objects, begin, end, store, &contents));
    }
    // Linked immediately, before other processes evict it.
    for (size_t i = begin; i < end; ++i) {
      const std::optional<CacheDir::Entry> entry =
          cache.Find(store->WholeKey(objects[i]));
      if (!entry.has_value()) {
        return absl::ResourceExhaustedError(absl::StrCat(
            cache.options().folder, ": ", objects[i].name,
            " could not be kept; the disk or --cache_bytes is too small"));
      }
      ASSIGN_OR_RETURN(set.paths.emplace_back(), paths.Next(objects[i].name));
      RETURN_IF_ERROR(cache.Link(*entry, set.paths.back()));
    }
    if (progress) {
      progress(static_cast<int64_t>(end), static_cast<int64_t>(objects.size()));
    }
  }
  return set;
}

}  // namespace feedrate
