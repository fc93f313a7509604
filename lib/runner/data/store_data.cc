#include "lib/runner/data/store_data.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/files.h"
#include "lib/base/private_folder.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/base/tool/flags.h"
#include "lib/draw/progress.h"
#include "lib/loader/source.h"
#include "lib/loader/source/remote_source.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/checksum.h"
#include "lib/storage/open_store.h"
#include "lib/storage/shards.h"

namespace feedrate {
namespace {

class StoreData final : public RemoteData {
 public:
  StoreData(StoreSpec spec, OpenedStore store,
            std::function<void(const std::string&)> say)
      : spec_(std::move(spec)),
        store_(std::move(store)),
        say_(std::move(say)) {}

  absl::StatusOr<FileSet> Objects(const std::vector<std::string>& endings,
                                  int64_t num_items) override {
    ASSIGN_OR_RETURN(FileSet set, Listed(endings, num_items));
    for (const SourceFile& item : set.files) {
      RETURN_IF_ERROR(CheckItemSize(*store_.store, item));
    }
    return set;
  }

  absl::StatusOr<std::string> BringHome(const std::vector<std::string>& endings,
                                        int64_t num_items, bool own_names,
                                        const FileProgress& progress) override {
    ASSIGN_OR_RETURN(const FileSet set, Listed(endings, num_items));
    std::vector<ObjectInfo> wanted;
    int64_t bytes = 0;
    for (const SourceFile& item : set.files) {
      // Samples of a shard are next to each other.
      if (!wanted.empty() && wanted.back().name == item.path) continue;
      const ObjectInfo* const object = FindObject(objects_, item.path);
      if (object == nullptr) {
        return absl::InternalError(
            absl::StrCat(item.path, ": is not in the listing"));
      }
      wanted.push_back(*object);
      bytes += wanted.back().bytes;
    }
    if (store_.cached == nullptr) {
      ASSIGN_OR_RETURN(const std::string folder, CacheFolder());
      spec_.cache_folder = JoinPath(folder, "objects");
      ASSIGN_OR_RETURN(store_, OpenCachedStore(spec_));
    }
    say_(absl::StrFormat(
        "some libraries read local files only: %d objects, %.1f MB, are "
        "brought into %s first",
        wanted.size(), static_cast<double>(bytes) / 1e6, spec_.cache_folder));
    const LocalNames names =
        own_names ? LocalNames::kOwn : LocalNames::kNumbers;
    ASSIGN_OR_RETURN(
        const LocalSet set_here,
        feedrate::CacheAsFiles(wanted, names, store_.cached, progress));
    return set_here.folder;
  }

  absl::StatusOr<std::string> Read(const SourceFile& item) override {
    std::string bytes(item.bytes, '\0');
    ReadRequest request;
    request.name = item.path;
    request.version = item.part->version;
    request.offset = item.part->offset;
    request.bytes = item.bytes;
    if (item.part->member.empty()) request.object_bytes = item.bytes;
    request.checksum = item.part->crc32c.has_value()
                           ? ChecksumOfCrc32c(*item.part->crc32c)
                           : item.part->checksum;
    request.out = bytes.data();
    RETURN_IF_ERROR(store_.store->Read(request));
    return bytes;
  }

  std::map<std::string, std::string> Fields() const override {
    return PrintStoreSpec(named_);
  }

 private:
  absl::StatusOr<FileSet> Listed(const std::vector<std::string>& endings,
                                 int64_t num_items) {
    if (objects_.empty()) {
      ASSIGN_OR_RETURN(objects_, store_.store->List());
    }
    FileSet set;
    set.source = "objects";
    ASSIGN_OR_RETURN(set.files, StoreItems(objects_, endings, num_items,
                                           store_.store.get()));
    set.items = static_cast<int64_t>(set.files.size());
    if (num_items == 0) {
      set.left_out = ObjectsLeftOut(objects_, set.files).Text();
    }
    return set;
  }

  StoreSpec spec_;
  // The spec as given: a cache that only local copies need is not for
  // everything.
  const StoreSpec named_ = spec_;
  OpenedStore store_;
  const std::function<void(const std::string&)> say_;
  std::vector<ObjectInfo> objects_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteData>> OpenStoreData(
    const StoreSpec& spec, const std::function<void(const std::string&)>& say) {
  ASSIGN_OR_RETURN(OpenedStore store, OpenCachedStore(spec));
  return std::make_unique<StoreData>(spec, std::move(store), say);
}

}  // namespace feedrate

DEFINE_string(cache_dir, "",
              "FOLDER: cache for data read from a store; any number of your "
              "processes can share it; default: no cache");
DEFINE_string(cache_bytes, "64G",
              "SIZE: maximum size of the cache, such as 500M; the least "
              "recently used data is removed first; 0 means no limit");
DEFINE_int32(connections, 8, "N: number of parallel requests to a store");
DEFINE_string(range_bytes, "8M",
              "SIZE: maximum size of one request; samples of a shard that lie "
              "within it are read with one request");
DEFINE_string(endpoint, "",
              "URL: address of a store that is not the cloud provider's own, "
              "such as http://127.0.0.1:9000");
DEFINE_string(redirect_hosts, "",
              "HOSTS: other hosts of the store, to which it may redirect, such "
              "as 10.0.0.*,*.store.example:8081 (AIStore needs it); default: "
              "none but the endpoint's own");
DEFINE_bool(anonymous, false, "send no credentials, even if there are some");
DEFINE_int32(store_retries, 6, "N: how often to retry a failed request");
DEFINE_double(
    store_timeout, 30,
    "SECONDS: a request that receives no data for this long has failed");

namespace feedrate {

absl::StatusOr<StoreSpec> StoreSpecFromFlags() {
  StoreSpec spec;
  ASSIGN_OR_RETURN(spec.cache_bytes,
                   SizeOfFlag("--cache_bytes", FLAGS_cache_bytes, 0));
  ASSIGN_OR_RETURN(spec.options.range_bytes,
                   SizeOfFlag("--range_bytes", FLAGS_range_bytes, 1));
  if (FLAGS_connections < 1 || FLAGS_store_retries < 0 ||
      !(FLAGS_store_timeout > 0)) {
    return absl::InvalidArgumentError(
        "--connections must be at least 1, --store_retries at least 0, and "
        "--store_timeout above 0");
  }
  if (!FLAGS_cache_dir.empty()) {
    // Workers may run in another folder.
    std::error_code error;
    spec.cache_folder =
        std::filesystem::absolute(FLAGS_cache_dir, error).string();
  }
  spec.options.connections = FLAGS_connections;
  spec.options.retries = FLAGS_store_retries;
  spec.options.timeout_s = FLAGS_store_timeout;
  spec.options.endpoint = FLAGS_endpoint;
  spec.options.redirect_hosts = FLAGS_redirect_hosts;
  spec.options.anonymous = FLAGS_anonymous;
  return spec;
}

absl::StatusOr<OpenRemoteData> OpenStoresByFlags() {
  ASSIGN_OR_RETURN(const StoreSpec spec, StoreSpecFromFlags());
  return OpenRemoteData([spec](const std::string& address, const auto& say) {
    StoreSpec opened = spec;
    opened.url = address;
    return OpenStoreData(opened, say);
  });
}

absl::StatusOr<std::string> PackDataset(const StoreSpec& spec,
                                        const std::string& folder,
                                        int64_t shard_bytes) {
  ASSIGN_OR_RETURN(const OpenedStore opened, OpenCachedStore(spec));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, opened.store->List());
  std::vector<ObjectInfo> items;
  for (const ObjectInfo& object : objects) {
    if (IsItemName(object.name)) items.push_back(object);
  }
  if (items.empty()) {
    return NothingThere(opened.store->url(), objects.size(), ItemNameEndings());
  }
  Progress progress(std::cerr, isatty(STDERR_FILENO) != 0);
  const auto tell = [&](int64_t done, int64_t total) {
    progress.Show("samples", done, total, "");
  };
  absl::StatusOr<ShardTotals> totals;
  if (IsRemoteDataset(folder)) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer,
                     OpenObjectWriter(folder, spec.options));
    ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> target,
                     OpenObjectStore(folder, spec.options));
    totals = MakeShards(items, shard_bytes, opened.store.get(), writer.get(),
                        target.get(), tell);
  } else {
    totals = MakeShards(items, folder, shard_bytes, opened.store.get(), tell);
  }
  progress.Finish();
  RETURN_IF_ERROR(totals.status());
  return absl::StrCat(
      absl::StrFormat("%d samples, %.1f MB, in %d shards in %s",
                      totals->samples, static_cast<double>(totals->bytes) / 1e6,
                      totals->shards, folder),
      totals->kept == 0 ? "" : absl::StrCat("; ", totals->kept, " were there"));
}

}  // namespace feedrate
