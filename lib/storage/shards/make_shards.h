// Many small objects into few large ones.
#ifndef FEEDRATE_LIB_STORAGE_SHARDS_MAKE_SHARDS_H_
#define FEEDRATE_LIB_STORAGE_SHARDS_MAKE_SHARDS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/storage/object_store.h"

namespace feedrate {

struct ShardTotals {
  int64_t shards = 0;
  int64_t samples = 0;
  int64_t bytes = 0;
};

// Packs `objects` in this order into shards in `folder`. `progress` may be
// null. Fails at the first object that cannot be read or packed: shards that
// lack samples in silence are worse than none.
absl::StatusOr<ShardTotals> MakeShards(
    const std::vector<ObjectInfo>& objects, const std::string& folder,
    int64_t shard_bytes, ObjectStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_SHARDS_MAKE_SHARDS_H_
