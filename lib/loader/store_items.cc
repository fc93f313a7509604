#include "lib/loader/store_items.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/loader/file_source.h"
#include "lib/storage/object_store.h"
#include "lib/storage/shards.h"

namespace feedrate {
namespace {

// Indexes that are read at once.
constexpr size_t kIndexesAtOnce = 16;

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

// The samples of shards, some shards at a time.
class ShardLister {
 public:
  ShardLister(const std::vector<ObjectInfo>& objects, ObjectStore* store)
      : objects_(objects),
        shards_(WithEndings(objects, {"tar"})),
        store_(store) {}

  absl::StatusOr<std::vector<SourceFile>> List(int64_t num_items) {
    for (size_t begin = 0; begin < shards_.size(); begin += kIndexesAtOnce) {
      const size_t end = std::min(begin + kIndexesAtOnce, shards_.size());
      RETURN_IF_ERROR(AddShards(begin, end));
      if (num_items > 0 && static_cast<int64_t>(items_.size()) >= num_items) {
        items_.resize(num_items);
        break;
      }
    }
    return std::move(items_);
  }

 private:
  // Of a web server only what the address names is listed: there the index is
  // asked for.
  std::optional<ObjectInfo> IndexOf(const ObjectInfo& shard) {
    const std::string name = absl::StrCat(shard.name, kShardIndexEnding);
    const ObjectInfo* const listed = FindObject(objects_, name);
    if (listed != nullptr) return *listed;
    if (!absl::StartsWith(store_->url(), "http")) return std::nullopt;
    absl::StatusOr<ObjectInfo> asked = store_->Stat(name);
    if (!asked.ok()) return std::nullopt;
    return *std::move(asked);
  }

  absl::Status AddShards(size_t begin, size_t end) {
    std::vector<ObjectInfo> indexes;
    std::map<size_t, size_t> index_of;
    for (size_t i = begin; i < end; ++i) {
      std::optional<ObjectInfo> index = IndexOf(shards_[i]);
      if (!index.has_value()) continue;
      index_of[i] = indexes.size();
      indexes.push_back(*std::move(index));
    }
    std::vector<std::string> texts;
    RETURN_IF_ERROR(ReadObjects(indexes, 0, indexes.size(), store_, &texts));
    for (size_t i = begin; i < end; ++i) {
      std::vector<ShardMember> members;
      const auto index = index_of.find(i);
      if (index != index_of.end()) {
        ASSIGN_OR_RETURN(members,
                         MembersByIndex(shards_[i], indexes[index->second],
                                        texts[index->second]));
      } else {
        ASSIGN_OR_RETURN(members, MembersByHeaders(shards_[i], store_));
      }
      AddSamples(shards_[i], members);
    }
    return absl::OkStatus();
  }

  // The first image or array of each sample, as ShardSource has it.
  void AddSamples(const ObjectInfo& shard,
                  const std::vector<ShardMember>& members) {
    std::string last_key = "/";  // No member's.
    for (const ShardMember& member : members) {
      if (!IsItemName(member.name)) continue;
      std::string key = SampleKey(member.name);
      if (key == last_key) continue;
      last_key = std::move(key);
      items_.push_back(ItemOf(shard, member));
    }
  }

  const std::vector<ObjectInfo>& objects_;
  const std::vector<ObjectInfo> shards_;
  ObjectStore* const store_;
  std::vector<SourceFile> items_;
};

}  // namespace

absl::StatusOr<std::vector<SourceFile>> StoreItems(
    const std::vector<ObjectInfo>& objects,
    const std::vector<std::string>& endings, int64_t num_items,
    ObjectStore* store) {
  std::vector<SourceFile> items;
  for (const ObjectInfo& object : WithEndings(objects, endings)) {
    if (num_items > 0 && static_cast<int64_t>(items.size()) == num_items) break;
    items.push_back(ItemOf(object));
  }
  if (items.empty()) {
    ASSIGN_OR_RETURN(items, ShardLister(objects, store).List(num_items));
  }
  if (items.empty()) return NothingThere(store->url(), objects.size());
  const int64_t have = static_cast<int64_t>(items.size());
  if (have >= num_items) return items;
  return absl::InvalidArgumentError(
      absl::StrCat(store->url(), ": has ", have, " usable objects, not ",
                   num_items, "; ask for --num_items=", have));
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

const ObjectInfo* FindObject(const std::vector<ObjectInfo>& objects,
                             const std::string& name) {
  const auto at = std::lower_bound(
      objects.begin(), objects.end(), name,
      [](const ObjectInfo& o, const std::string& n) { return o.name < n; });
  return at != objects.end() && at->name == name ? &*at : nullptr;
}

}  // namespace feedrate
