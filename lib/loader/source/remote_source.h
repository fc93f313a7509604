// Items in an object store: whole objects, or parts of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/source.h"
#include "lib/loader/source/data_folder.h"
#include "lib/loader/source/source_file.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/object_store.h"
#include "lib/storage/open_store.h"

namespace feedrate {

struct RemoteObject {
  std::string name;
  std::string version;
  std::string checksum;
};

struct RemoteItem {
  int object = 0;  // Index in the list of objects.
  int64_t offset = 0;
  int64_t bytes = 0;
  bool is_whole = false;           // The item is the whole object.
  std::optional<uint32_t> crc32c;  // Checked after reading, if set.
  std::string member;              // For messages; may be empty.
};

// Items of which only a part was read: how often, the bytes of the parts, and
// those that the items have.
struct PartCounts {
  int64_t items = 0;
  int64_t bytes = 0;
  int64_t of_bytes = 0;
};

// Thread-safe. Adjacent items of an object form blocks of at most
// `block_bytes`. One request can read several items of a block, and a block is
// one cache entry.
class RemoteSource final : public Source {
 public:
  // `labels` has one per item, or is empty.
  RemoteSource(OpenedStore store, std::vector<RemoteObject> objects,
               std::vector<RemoteItem> items, int connections,
               int64_t block_bytes, std::vector<int64_t> labels = {});

  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  std::string name(int64_t item) const override;
  int64_t label(int64_t item) const override {
    return labels_.empty() ? -1 : labels_[item];
  }
  // Only the size.
  ItemPlace Place(int64_t item) const override {
    ItemPlace place;
    place.bytes = items_[item].bytes;
    return place;
  }
  // Reads the item with one request, or from the cache.
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override;
  const RemoteSource* remote() const override { return this; }
  void SetCancelled(bool cancelled) const override {
    store_.store->SetCancelled(cancelled);
  }

  // True if reading the item needs no request.
  bool IsNear(int64_t item) const;

  // True if one request may read both `item` and the next one.
  bool JoinsNext(int64_t item) const;
  // Bytes from the first byte of `first` to the last byte of `last`.
  int64_t Span(int64_t first, int64_t last) const;
  // Offset of an item in a span that starts at `first`.
  int64_t OffsetInSpan(int64_t first, int64_t item) const {
    return items_[item].offset - items_[first].offset;
  }
  int64_t bytes(int64_t item) const { return items_[item].bytes; }
  // Reads the span into `out`. REQUIRES: each item of the span but the last
  // joins the next.
  void StartRead(int64_t first, int64_t last, char* out,
                 std::function<void(absl::Status)> done) const;
  // Reads only bytes [begin, end) of an item.
  void StartPartRead(int64_t item, int64_t begin, int64_t end, char* out,
                     std::function<void(absl::Status)> done) const;
  // Names the bytes of an item: its store, object, version and place in it. Of
  // nothing if the server names no version, or if a cache keeps whole items.
  std::string PlaceOf(int64_t item) const;
  // DataLoss if the bytes do not match the item's checksum.
  absl::Status Check(int64_t item, absl::string_view bytes) const;

  // Number of requests that the store can have in flight.
  int connections() const { return connections_; }
  TransferCounts counts() const { return store_.store->counts(); }
  // All 0 without a cache.
  CacheCounts cache_counts() const;
  PartCounts part_counts() const {
    return {part_items_, part_bytes_, part_of_bytes_};
  }

 private:
  void MakeBlocks(int64_t block_bytes);

  const OpenedStore store_;
  const std::vector<RemoteObject> objects_;
  const std::vector<RemoteItem> items_;
  const int connections_;
  const std::vector<int64_t> labels_;
  std::vector<int32_t> block_of_;
  std::vector<CacheBlock> blocks_;
  mutable std::atomic<int64_t> part_items_{0};
  mutable std::atomic<int64_t> part_bytes_{0};
  mutable std::atomic<int64_t> part_of_bytes_{0};
};

// Makes a source from a list of parts of objects. Opens the store, with its
// cache if it has one. InvalidArgument if an entry of the list is not part of
// an object.
absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const StoreSpec& store, const std::vector<SourceFile>& files,
    std::vector<int64_t> labels = {});

// Finds the items in a store: the first `num_items` items (0: all) of
// `objects`, the result of `store`'s List. Objects with one of `endings` (no
// dot, any case) are items, sorted by name. If there are none, the items are
// the samples of tar files, found in the index next to the shard or else in the
// shard's headers. InvalidArgument if there are fewer items than asked for.
// `labels`, if not null, gets the label of each item as ShardSource has it,
// with a small request each. Samples of tar files have one of `in_shards`.
absl::StatusOr<std::vector<SourceFile>> StoreItems(
    const std::vector<ObjectInfo>& objects,
    const std::vector<std::string>& endings, int64_t num_items,
    ObjectStore* store, std::vector<int64_t>* labels = nullptr,
    const std::vector<std::string>& in_shards = ItemNameEndings());

// The objects that are none of `items`, all that StoreItems found among
// `objects`. Nothing if items are in shards.
LeftOut ObjectsLeftOut(const std::vector<ObjectInfo>& objects,
                       const std::vector<SourceFile>& items);

// The items of a store, as OpenRemoteSource takes them.
struct StoreListing {
  StoreSpec store;
  std::vector<SourceFile> items;
  std::vector<int64_t> labels;  // Of StoreItems; empty if not asked for.
  LeftOut left_out;             // Of ObjectsLeftOut.
};

// Lists all with one of these endings. `fields` are those of PrintStoreSpec.
absl::StatusOr<StoreListing> ListStore(
    const std::map<std::string, std::string>& fields, bool needs_labels,
    const std::vector<std::string>& endings = ItemNameEndings());

// InvalidArgument, with its name, for an item that cannot be read into memory.
// REQUIRES: it is a part of an object.
absl::Status CheckItemSize(const ObjectStore& store, const SourceFile& item);

// Error for an address without files of these endings, with advice on what to
// check. `objects` is the number of objects found there.
absl::Status NothingThere(const std::string& address, size_t objects,
                          const std::vector<std::string>& endings);

// Finds the object with this name; null if there is none. REQUIRES: `objects`
// is sorted by name.
const ObjectInfo* FindObject(const std::vector<ObjectInfo>& objects,
                             const std::string& name);

}  // namespace feedrate
