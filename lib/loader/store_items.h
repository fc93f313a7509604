// What of a store is items.
#ifndef FEEDRATE_LIB_LOADER_STORE_ITEMS_H_
#define FEEDRATE_LIB_LOADER_STORE_ITEMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/storage/object_store.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// `num_items` items (0: all) of `objects`, which List of `store` gave, as parts
// of objects. Objects with one of `endings` (no dot, any case) are items by
// sorted name; where there are none, the samples of tar files are, by the index
// beside the shard or else by its headers. InvalidArgument when there are
// fewer.
absl::StatusOr<std::vector<SourceFile>> StoreItems(
    const std::vector<ObjectInfo>& objects,
    const std::vector<std::string>& endings, int64_t num_items,
    ObjectStore* store);

// Says that there is nothing at an address, and what to look at. So many
// objects are there, but none of use.
absl::Status NothingThere(const std::string& address, size_t objects);

// The object of this name. Null when there is none. REQUIRES: sorted by name.
const ObjectInfo* FindObject(const std::vector<ObjectInfo>& objects,
                             const std::string& name);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_STORE_ITEMS_H_
