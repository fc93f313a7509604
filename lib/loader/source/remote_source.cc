#include "lib/loader/source/remote_source.h"

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "lib/base/allowed_sizes.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/text.h"
#include "lib/storage/checksum.h"
#include "lib/storage/shards.h"

namespace feedrate {
namespace {

// Gaps between two items, such as headers and labels, are read along with them
// up to this size: that costs less than another request.
constexpr int64_t kLargestGap = 64 << 10;

}  // namespace

RemoteSource::RemoteSource(OpenedStore store, std::vector<RemoteObject> objects,
                           std::vector<RemoteItem> items, int connections,
                           int64_t block_bytes, std::vector<int64_t> labels)
    : store_(std::move(store)),
      objects_(std::move(objects)),
      items_(std::move(items)),
      connections_(connections),
      labels_(std::move(labels)) {
  MakeBlocks(block_bytes);
}

void RemoteSource::MakeBlocks(int64_t block_bytes) {
  block_of_.reserve(items_.size());
  for (size_t i = 0; i < items_.size(); ++i) {
    const RemoteItem& item = items_[i];
    bool joins = false;
    if (i > 0 && items_[i - 1].object == item.object) {
      const int64_t end = items_[i - 1].offset + items_[i - 1].bytes;
      joins = item.offset >= end && item.offset - end <= kLargestGap &&
              item.offset + item.bytes - blocks_.back().offset <= block_bytes;
    }
    if (!joins) blocks_.push_back({item.offset, 0});
    blocks_.back().bytes = item.offset + item.bytes - blocks_.back().offset;
    block_of_.push_back(static_cast<int32_t>(blocks_.size()) - 1);
  }
}

std::string RemoteSource::name(int64_t item) const {
  const RemoteItem& at = items_[item];
  const std::string& object = objects_[at.object].name;
  // An address that names an object, or a listing of objects, is not a prefix
  // of the objects' names.
  absl::string_view above = store_.store->url();
  const size_t list = above.find('{');
  if (list != above.npos || absl::EndsWith(above, object)) {
    above = above.substr(0, above.substr(0, list).rfind('/'));
  }
  return absl::StrCat(above, "/", object, at.member.empty() ? "" : ":",
                      at.member);
}

bool RemoteSource::JoinsNext(int64_t item) const {
  return item + 1 < size() && block_of_[item] == block_of_[item + 1];
}

int64_t RemoteSource::Span(int64_t first, int64_t last) const {
  return items_[last].offset + items_[last].bytes - items_[first].offset;
}

bool RemoteSource::IsNear(int64_t item) const {
  if (store_.cached == nullptr) return store_.is_local;
  const RemoteObject& object = objects_[items_[item].object];
  ReadRequest request;
  request.name = object.name;
  request.version = object.version;
  return store_.cached->IsCached(request, blocks_[block_of_[item]]);
}

void RemoteSource::StartRead(int64_t first, int64_t last, char* out,
                             std::function<void(absl::Status)> done) const {
  const RemoteItem& item = items_[first];
  const RemoteObject& object = objects_[item.object];
  ReadRequest request;
  request.name = object.name;
  request.version = object.version;
  if (item.is_whole) {
    request.checksum = object.checksum;
    request.object_bytes = item.bytes;
  }
  request.offset = item.offset;
  request.bytes = Span(first, last);
  request.out = out;
  if (store_.cached == nullptr) {
    store_.store->StartRead(request, std::move(done));
  } else {
    store_.cached->StartBlockRead(request, blocks_[block_of_[first]],
                                  std::move(done));
  }
}

void RemoteSource::StartPartRead(int64_t item, int64_t begin, int64_t end,
                                 char* out,
                                 std::function<void(absl::Status)> done) const {
  const RemoteItem& at = items_[item];
  ReadRequest request;
  request.name = objects_[at.object].name;
  request.version = objects_[at.object].version;
  if (at.is_whole) request.object_bytes = at.bytes;
  request.offset = at.offset + begin;
  request.bytes = end - begin;
  request.out = out;
  ++part_items_;
  part_bytes_ += request.bytes;
  part_of_bytes_ += at.bytes;
  store_.store->StartRead(request, std::move(done));
}

std::string RemoteSource::PlaceOf(int64_t item) const {
  const RemoteItem& at = items_[item];
  const RemoteObject& object = objects_[at.object];
  if (store_.cached != nullptr || object.version.empty()) return "";
  return absl::StrCat(store_.store->identity(), "\n", object.name, "\n",
                      object.version, "\n", at.offset, "+", at.bytes);
}

absl::Status RemoteSource::Check(int64_t item, absl::string_view bytes) const {
  const std::optional<uint32_t>& crc32c = items_[item].crc32c;
  if (!crc32c.has_value() || Crc32c(bytes) == *crc32c) return absl::OkStatus();
  return absl::DataLossError("its bytes have another checksum than the index");
}

absl::StatusOr<absl::string_view> RemoteSource::Read(int64_t item,
                                                     ReadBuffer* buffer) const {
  const int64_t bytes = items_[item].bytes;
  char* const out = buffer->Reserve(bytes);
  // Shared, because it may still be in use when the value has arrived.
  const auto result = std::make_shared<std::promise<absl::Status>>();
  StartRead(item, item, out, [result](absl::Status status) {
    result->set_value(std::move(status));
  });
  RETURN_IF_ERROR(result->get_future().get());
  const absl::string_view view(out, bytes);
  RETURN_IF_ERROR(Check(item, view));
  return view;
}

CacheCounts RemoteSource::cache_counts() const {
  return store_.cached == nullptr ? CacheCounts()
                                  : store_.cached->cache().counts();
}

absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const StoreSpec& spec, const std::vector<SourceFile>& files,
    std::vector<int64_t> labels) {
  ASSIGN_OR_RETURN(OpenedStore store, OpenCachedStore(spec));
  std::vector<RemoteObject> objects;
  std::vector<RemoteItem> items;
  items.reserve(files.size());
  // Items of a shard share its object.
  std::unordered_map<std::string, int> known;
  for (const SourceFile& file : files) {
    if (!file.part.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, ": is not part of an object"));
    }
    RETURN_IF_ERROR(CheckItemSize(*store.store, file));
    const ObjectPart& part = *file.part;
    const auto [object, is_new] =
        known.emplace(file.path, static_cast<int>(objects.size()));
    if (is_new) objects.push_back({file.path, part.version, part.checksum});
    RemoteItem& item = items.emplace_back();
    item.object = object->second;
    item.offset = part.offset;
    item.bytes = file.bytes;
    item.is_whole = part.member.empty();
    item.crc32c = part.crc32c;
    item.member = part.member;
  }
  return std::make_unique<RemoteSource>(
      std::move(store), std::move(objects), std::move(items),
      spec.options.connections, spec.options.range_bytes, std::move(labels));
}

namespace {

// Number of indexes read at once, and how large they may be together.
constexpr size_t kIndexesAtOnce = 16;
constexpr int64_t kIndexBytesAtOnce = 256 << 20;
constexpr size_t kLabelsAtOnce = 4096;
constexpr int64_t kItemMemory = sizeof(SourceFile) + sizeof(ReadRequest);

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

// Lists the samples of shards, some shards at a time.
class ShardLister {
 public:
  ShardLister(const std::vector<ObjectInfo>& objects,
              const std::vector<std::string>& endings, ObjectStore* store)
      : objects_(objects),
        endings_(endings),
        shards_(WithEndings(objects, {"tar"})),
        store_(store) {}

  absl::StatusOr<std::vector<SourceFile>> List(int64_t num_items) {
    for (size_t begin = 0; begin < shards_.size(); begin += kIndexesAtOnce) {
      const size_t end = std::min(begin + kIndexesAtOnce, shards_.size());
      RETURN_IF_ERROR(AddShards(begin, end));
      if (num_items > 0 && static_cast<int64_t>(items_.size()) >= num_items) {
        items_.resize(num_items);
        label_of_.resize(num_items);
        break;
      }
    }
    return std::move(items_);
  }

  // The labels of the items that were listed.
  absl::StatusOr<std::vector<int64_t>> ReadLabels() {
    std::vector<std::array<char, kLabelBytes>> texts(kLabelsAtOnce);
    std::vector<int64_t> labels(label_of_.size(), -1);
    for (size_t begin = 0; begin < labels.size(); begin += kLabelsAtOnce) {
      const size_t end = std::min(begin + kLabelsAtOnce, labels.size());
      std::vector<ReadRequest> requests;
      for (size_t i = begin; i < end; ++i) {
        if (label_of_[i].bytes == 0) continue;
        requests.push_back(label_of_[i]);
        requests.back().out = texts[i - begin].data();
      }
      RETURN_IF_ERROR(ReadMany(requests, store_));
      for (size_t i = begin; i < end; ++i) {
        if (label_of_[i].bytes == 0) continue;
        labels[i] = ParseLabel(
            absl::string_view(texts[i - begin].data(), label_of_[i].bytes));
      }
    }
    return labels;
  }

 private:
  // A web server lists only what the address names: there the index must be
  // requested.
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
    size_t first = 0, last = 0;  // The range of its indexes in `texts`.
    for (size_t i = begin; i < end; ++i) {
      std::vector<ShardMember> members;
      const auto index = index_of.find(i);
      if (index != index_of.end()) {
        if (index->second == last) {
          first = last;
          last = EndOfRun(indexes, first, kIndexBytesAtOnce);
          RETURN_IF_ERROR(ReadObjects(indexes, first, last, store_, &texts));
        }
        ASSIGN_OR_RETURN(members,
                         MembersByIndex(shards_[i], indexes[index->second],
                                        texts[index->second - first]));
      } else {
        RETURN_IF_ERROR(CheckHasVersion(shards_[i]));
        ASSIGN_OR_RETURN(members, MembersByHeaders(shards_[i], store_));
      }
      RETURN_IF_ERROR(AddSamples(shards_[i], members));
    }
    return absl::OkStatus();
  }

  // Its samples are read one by one, so something must show that they are all
  // of the version whose headers were read: the sums of an index, or this.
  absl::Status CheckHasVersion(const ObjectInfo& shard) const {
    if (!shard.version.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        store_->url(), ": ", shard.name,
        ": the server names no version of it, so samples of two versions could "
        "be mixed; add an index with pipeline --make_shards, or read it from a "
        "server with strong ETags"));
  }

  // The first item of each sample, as in ShardSource.
  absl::Status AddSamples(const ObjectInfo& shard,
                          const std::vector<ShardMember>& members) {
    std::string last_key = "/";  // Matches no member.
    std::string label_key = "/";
    ReadRequest label;
    for (const ShardMember& member : members) {
      std::string key = SampleKey(member.name);
      if (absl::EndsWith(member.name, ".cls")) {
        label.name = shard.name;
        label.version = shard.version;
        label.offset = member.offset;
        label.bytes = member.bytes <= kLabelBytes ? member.bytes : 0;
        label.checksum =
            member.crc32c.has_value() ? ChecksumOfCrc32c(*member.crc32c) : "";
        if (key == last_key) label_of_.back() = label;
        label_key = std::move(key);
        continue;
      }
      if (!HasEnding(member.name, endings_) || key == last_key) continue;
      label_of_.push_back(key == label_key ? label : ReadRequest());
      last_key = std::move(key);
      items_.push_back(ItemOf(shard, member));
      const absl::Status status =
          size_.Add(member.name, member.bytes,
                    kItemMemory + static_cast<int64_t>(shard.name.size()));
      if (!status.ok()) {
        return absl::Status(
            status.code(), absl::StrCat(store_->url(), ": ", status.message()));
      }
    }
    return absl::OkStatus();
  }

  const std::vector<ObjectInfo>& objects_;
  const std::vector<std::string>& endings_;
  const std::vector<ObjectInfo> shards_;
  ObjectStore* const store_;
  DatasetSize size_;
  std::vector<SourceFile> items_;
  // Where the label of each item is; no bytes if it has none.
  std::vector<ReadRequest> label_of_;
};

}  // namespace

absl::StatusOr<std::vector<SourceFile>> StoreItems(
    const std::vector<ObjectInfo>& objects,
    const std::vector<std::string>& endings, int64_t num_items,
    ObjectStore* store, std::vector<int64_t>* labels,
    const std::vector<std::string>& in_shards) {
  std::vector<SourceFile> items;
  for (const ObjectInfo& object : WithEndings(objects, endings)) {
    if (num_items > 0 && static_cast<int64_t>(items.size()) == num_items) break;
    items.push_back(ItemOf(object));
  }
  if (labels != nullptr) labels->assign(items.size(), -1);
  if (items.empty()) {
    ShardLister lister(objects, in_shards, store);
    ASSIGN_OR_RETURN(items, lister.List(num_items));
    if (labels != nullptr) {
      ASSIGN_OR_RETURN(*labels, lister.ReadLabels());
    }
  }
  if (items.empty()) {
    return NothingThere(store->url(), objects.size(), endings);
  }
  const int64_t have = static_cast<int64_t>(items.size());
  if (have >= num_items) return items;
  return absl::InvalidArgumentError(
      absl::StrCat(store->url(), ": has ", have, " usable objects, not ",
                   num_items, "; ask for --num_items=", have));
}

LeftOut ObjectsLeftOut(const std::vector<ObjectInfo>& objects,
                       const std::vector<SourceFile>& items) {
  LeftOut left_out;
  if (items.empty() || !items[0].part->member.empty()) return left_out;
  size_t next = 0;
  for (const ObjectInfo& object : objects) {
    if (next < items.size() && items[next].path == object.name) {
      ++next;
    } else if (object.bytes > 0) {
      left_out.AddFile(object.name);
    } else if (!absl::EndsWith(object.name, "/")) {
      // Others stand for folders.
      left_out.Add("empty", object.name);
    }
  }
  return left_out;
}

absl::StatusOr<StoreListing> ListStore(
    const std::map<std::string, std::string>& fields, bool needs_labels,
    const std::vector<std::string>& endings) {
  StoreListing listing;
  ASSIGN_OR_RETURN(listing.store, ParseStoreSpec(fields));
  ASSIGN_OR_RETURN(const OpenedStore opened, OpenCachedStore(listing.store));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, opened.store->List());
  ASSIGN_OR_RETURN(
      listing.items,
      StoreItems(objects, endings, 0, opened.store.get(),
                 needs_labels ? &listing.labels : nullptr, endings));
  listing.left_out = ObjectsLeftOut(objects, listing.items);
  return listing;
}

absl::Status CheckItemSize(const ObjectStore& store, const SourceFile& item) {
  const std::string& member = item.part->member;
  return CheckItemBytes(absl::StrCat(store.url(), ": ", item.path,
                                     member.empty() ? "" : ":", member),
                        item.bytes);
}

absl::Status NothingThere(const std::string& address, size_t objects,
                          const std::vector<std::string>& endings) {
  return absl::InvalidArgumentError(
      objects == 0
          ? absl::StrCat(address,
                         ": there is nothing; look at the bucket and the "
                         "prefix")
          : absl::StrCat(address, ": has ",
                         Counted(static_cast<int64_t>(objects), "object"),
                         ", but no .", absl::StrJoin(endings, ", ."),
                         " files, and no .tar files of them"));
}

const ObjectInfo* FindObject(const std::vector<ObjectInfo>& objects,
                             const std::string& name) {
  const auto at = std::lower_bound(
      objects.begin(), objects.end(), name,
      [](const ObjectInfo& o, const std::string& n) { return o.name < n; });
  return at != objects.end() && at->name == name ? &*at : nullptr;
}

}  // namespace feedrate
