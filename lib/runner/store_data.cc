#include "lib/runner/store_data.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/file_source.h"
#include "lib/runner/cache_folder.h"
#include "lib/storage/cache/local_set.h"
#include "lib/storage/read_many.h"
#include "lib/storage/shards/shard_index.h"
#include "lib/storage/shards/shard_members.h"

namespace feedrate {
namespace {

// Indexes that are read at once.
constexpr size_t kIndexesAtOnce = 16;

absl::Status TooFew(const std::string& address, int64_t have, int64_t wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat(address, ": has ", have, " usable objects, not ", wanted,
                   "; ask for --num_items=", have));
}

SourceFile ItemOf(const ObjectInfo& object) {
  SourceFile file = {object.name, object.bytes, {}};
  file.part = ObjectPart{0, object.version, object.checksum, "", std::nullopt};
  return file;
}

SourceFile ItemOf(const ObjectInfo& shard, const ShardMember& member) {
  SourceFile file = {shard.name, member.bytes, {}};
  file.part =
      ObjectPart{member.offset, shard.version, "", member.name, member.crc32c};
  return file;
}

// The first image or array of each sample, as ShardSource has it.
void AddItems(const ObjectInfo& shard, const std::vector<ShardMember>& members,
              std::vector<SourceFile>* items) {
  std::string last_key = "/";  // No member's.
  for (const ShardMember& member : members) {
    if (!IsItemName(member.name)) continue;
    std::string key = SampleKey(member.name);
    if (key == last_key) continue;
    last_key = std::move(key);
    items->push_back(ItemOf(shard, member));
  }
}

class StoreData final : public RemoteData {
 public:
  StoreData(RemoteStoreSpec spec, OpenedStore store,
            std::function<void(const std::string&)> say)
      : spec_(std::move(spec)),
        store_(std::move(store)),
        say_(std::move(say)) {}

  absl::StatusOr<FileSet> Objects(const std::vector<std::string>& endings,
                                  int64_t num_items) override {
    RETURN_IF_ERROR(List());
    FileSet set;
    set.source = "objects";
    for (const ObjectInfo& object : WithEndings(objects_, endings)) {
      if (num_items > 0 && set.items == num_items) break;
      set.files.push_back(ItemOf(object));
      ++set.items;
    }
    if (set.items == 0) {
      ASSIGN_OR_RETURN(set.files, ItemsOfShards(num_items));
      set.items = static_cast<int64_t>(set.files.size());
    }
    if (set.items == 0) return NothingThere(spec_.url, objects_.size());
    if (set.items < num_items) return TooFew(spec_.url, set.items, num_items);
    return set;
  }

  absl::StatusOr<std::string> BringHome(const std::vector<std::string>& endings,
                                        int64_t num_items,
                                        const FileProgress& progress) override {
    ASSIGN_OR_RETURN(const FileSet set, Objects(endings, num_items));
    std::vector<ObjectInfo> wanted;
    int64_t bytes = 0;
    for (const SourceFile& item : set.files) {
      if (!wanted.empty() && wanted.back().name == item.path) continue;
      wanted.push_back(*Find(item.path));
      bytes += wanted.back().bytes;
    }
    RETURN_IF_ERROR(OpenCache());
    say_(absl::StrFormat(
        "some libraries read local files only: %d objects, %.1f MB, are "
        "brought into %s first",
        wanted.size(), static_cast<double>(bytes) / 1e6, spec_.cache_folder));
    ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                     feedrate::BringHome(wanted, store_.cached, progress));
    return ParentFolder(paths.front());
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
    return PrintRemoteStore(named_);
  }

 private:
  absl::Status List() {
    if (!objects_.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(objects_, store_.store->List());
    return objects_.empty() ? NothingThere(spec_.url, 0) : absl::OkStatus();
  }

  std::optional<ObjectInfo> Find(const std::string& name) const {
    const auto at =
        std::lower_bound(objects_.begin(), objects_.end(), name,
                         [](const ObjectInfo& object, const std::string& n) {
                           return object.name < n;
                         });
    if (at == objects_.end() || at->name != name) return std::nullopt;
    return *at;
  }

  // What a list of addresses names is all that is listed: there the index is
  // asked for.
  std::optional<ObjectInfo> IndexOf(const ObjectInfo& shard) {
    const std::string name = absl::StrCat(shard.name, kShardIndexEnding);
    std::optional<ObjectInfo> index = Find(name);
    if (index.has_value() || !absl::StrContains(spec_.url, "{")) return index;
    absl::StatusOr<ObjectInfo> asked = store_.store->Stat(name);
    if (!asked.ok()) return std::nullopt;
    return *std::move(asked);
  }

  absl::StatusOr<std::vector<SourceFile>> ItemsOfShards(int64_t num_items) {
    const std::vector<ObjectInfo> shards = WithEndings(objects_, {"tar"});
    std::vector<SourceFile> items;
    for (size_t begin = 0; begin < shards.size(); begin += kIndexesAtOnce) {
      const size_t end = std::min(begin + kIndexesAtOnce, shards.size());
      RETURN_IF_ERROR(AddShards(shards, begin, end, &items));
      if (num_items > 0 && static_cast<int64_t>(items.size()) >= num_items) {
        items.resize(num_items);
        break;
      }
    }
    return items;
  }

  absl::Status AddShards(const std::vector<ObjectInfo>& shards, size_t begin,
                         size_t end, std::vector<SourceFile>* items) {
    std::vector<ObjectInfo> indexes;
    std::map<std::string, size_t> index_of;
    for (size_t i = begin; i < end; ++i) {
      std::optional<ObjectInfo> index = IndexOf(shards[i]);
      if (!index.has_value()) continue;
      index_of[shards[i].name] = indexes.size();
      indexes.push_back(*std::move(index));
    }
    std::vector<std::string> texts;
    RETURN_IF_ERROR(
        ReadObjects(indexes, 0, indexes.size(), store_.store.get(), &texts));
    for (size_t i = begin; i < end; ++i) {
      std::vector<ShardMember> members;
      const auto index = index_of.find(shards[i].name);
      if (index != index_of.end()) {
        ASSIGN_OR_RETURN(members,
                         MembersByIndex(shards[i], indexes[index->second],
                                        texts[index->second]));
      } else {
        ASSIGN_OR_RETURN(members,
                         MembersByHeaders(shards[i], store_.store.get()));
      }
      AddItems(shards[i], members, items);
    }
    return absl::OkStatus();
  }

  absl::Status OpenCache() {
    if (store_.cached != nullptr) return absl::OkStatus();
    spec_.cache_folder = JoinPath(CacheFolder(), "objects");
    ASSIGN_OR_RETURN(store_, OpenRemoteStore(spec_));
    return absl::OkStatus();
  }

  RemoteStoreSpec spec_;
  // As the user named it: a cache that only libraries need is not one for all.
  const RemoteStoreSpec named_ = spec_;
  OpenedStore store_;
  const std::function<void(const std::string&)> say_;
  std::vector<ObjectInfo> objects_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RemoteData>> OpenStoreData(
    const RemoteStoreSpec& spec,
    const std::function<void(const std::string&)>& say) {
  ASSIGN_OR_RETURN(OpenedStore store, OpenRemoteStore(spec));
  return std::make_unique<StoreData>(spec, std::move(store), say);
}

std::vector<ObjectInfo> WithEndings(const std::vector<ObjectInfo>& objects,
                                    const std::vector<std::string>& endings) {
  std::vector<ObjectInfo> found;
  for (const ObjectInfo& object : objects) {
    const std::string base = absl::AsciiStrToLower(BaseName(object.name));
    const size_t dot = base.rfind('.');
    if (dot == std::string::npos || object.bytes == 0) continue;
    if (std::find(endings.begin(), endings.end(), base.substr(dot + 1)) !=
        endings.end()) {
      found.push_back(object);
    }
  }
  return found;
}

absl::Status NothingThere(const std::string& address, size_t objects) {
  return absl::InvalidArgumentError(
      objects == 0
          ? absl::StrCat(address,
                         ": there is nothing; look at the bucket and the "
                         "prefix")
          : absl::StrCat(address, ": has ", objects,
                         " objects, but no images, .npy arrays or tar files "
                         "of them"));
}

}  // namespace feedrate
