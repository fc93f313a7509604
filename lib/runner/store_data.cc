#include "lib/runner/store_data.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/remote_source.h"
#include "lib/runner/cache_folder.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/object_store.h"
#include "lib/storage/open_store.h"

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
    if (objects_.empty()) {
      ASSIGN_OR_RETURN(objects_, store_.store->List());
    }
    FileSet set;
    set.source = "objects";
    ASSIGN_OR_RETURN(set.files, StoreItems(objects_, endings, num_items,
                                           store_.store.get()));
    set.items = static_cast<int64_t>(set.files.size());
    return set;
  }

  absl::StatusOr<std::string> BringHome(const std::vector<std::string>& endings,
                                        int64_t num_items, bool own_names,
                                        const FileProgress& progress) override {
    ASSIGN_OR_RETURN(const FileSet set, Objects(endings, num_items));
    std::vector<ObjectInfo> wanted;
    int64_t bytes = 0;
    for (const SourceFile& item : set.files) {
      // Samples of a shard stand together.
      if (!wanted.empty() && wanted.back().name == item.path) continue;
      wanted.push_back(*FindObject(objects_, item.path));
      bytes += wanted.back().bytes;
    }
    if (store_.cached == nullptr) {
      spec_.cache_folder = JoinPath(CacheFolder(), "objects");
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
        feedrate::BringHome(wanted, names, store_.cached, progress));
    return set_here.folder;
  }

  absl::StatusOr<std::string> Read(const SourceFile& item) override {
    std::string bytes(item.bytes, '\0');
    ReadRequest request;
    request.name = item.path;
    request.version = item.part->version;
    request.offset = item.part->offset;
    request.bytes = item.bytes;
    request.out = bytes.data();
    RETURN_IF_ERROR(store_.store->Read(request));
    return bytes;
  }

  std::map<std::string, std::string> Fields() const override {
    return PrintStoreSpec(named_);
  }

 private:
  StoreSpec spec_;
  // As it was asked for: a cache that only libraries need is not one for all.
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

OpenRemoteData OpenStoresBy(const StoreSpec& spec) {
  return [spec](const std::string& address, const auto& say) {
    StoreSpec opened = spec;
    opened.url = address;
    return OpenStoreData(opened, say);
  };
}

}  // namespace feedrate
