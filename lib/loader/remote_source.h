// Items that are objects of a store, or parts of them.
#ifndef FEEDRATE_LIB_LOADER_REMOTE_SOURCE_H_
#define FEEDRATE_LIB_LOADER_REMOTE_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/source.h"
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
  int object = 0;  // Number in the list of objects.
  int64_t offset = 0;
  int64_t bytes = 0;
  bool is_whole = false;           // Of its object.
  std::optional<uint32_t> crc32c;  // Held against what is read.
  std::string member;              // For messages; empty: none.
};

// Thread-safe. Items that follow each other in an object make up blocks of at
// most `block_bytes`: items of a block can be read by one request, and a block
// is one entry of a cache.
class RemoteSource final : public Source {
 public:
  RemoteSource(OpenedStore store, std::vector<RemoteObject> objects,
               std::vector<RemoteItem> items, int connections,
               int64_t block_bytes);

  int64_t size() const override { return static_cast<int64_t>(items_.size()); }
  std::string name(int64_t item) const override;
  // By one request, or from the cache.
  absl::StatusOr<absl::string_view> Read(int64_t item,
                                         ReadBuffer* buffer) const override;
  const RemoteSource* remote() const override { return this; }

  // Whether the item can be had without a request.
  bool IsNear(int64_t item) const;

  // Whether one request may read from `item` to the one behind it.
  bool JoinsNext(int64_t item) const;
  // Bytes from the first byte of `first` to the last of `last`.
  int64_t Span(int64_t first, int64_t last) const;
  // Where in a span that begins with `first` an item lies.
  int64_t OffsetInSpan(int64_t first, int64_t item) const {
    return items_[item].offset - items_[first].offset;
  }
  int64_t bytes(int64_t item) const { return items_[item].bytes; }
  // Reads the span into `out`. REQUIRES: all items between join.
  void StartRead(int64_t first, int64_t last, char* out,
                 std::function<void(absl::Status)> done) const;
  // DataLoss when they are not the item's.
  absl::Status Check(int64_t item, absl::string_view bytes) const;

  // Of the store; requests that it can have under way.
  int connections() const { return connections_; }
  TransferCounts counts() const { return store_.store->counts(); }
  // All 0 without a cache.
  CacheCounts cache_counts() const;

 private:
  void MakeBlocks(int64_t block_bytes);

  const OpenedStore store_;
  const std::vector<RemoteObject> objects_;
  const std::vector<RemoteItem> items_;
  const int connections_;
  std::vector<int32_t> block_of_;
  std::vector<CacheBlock> blocks_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_REMOTE_SOURCE_H_
