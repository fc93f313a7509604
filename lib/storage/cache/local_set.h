// Objects as files, for programs that read nothing else.
#ifndef FEEDRATE_LIB_STORAGE_CACHE_LOCAL_SET_H_
#define FEEDRATE_LIB_STORAGE_CACHE_LOCAL_SET_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// Brings all objects into the cache and gives each a path, in one folder, in
// this order by name; endings stay. The files are there as long as the store,
// whatever the cache evicts meanwhile. `progress` may be null.
//
// ResourceExhausted when they do not fit: then nothing was begun, or the disk
// is full.
absl::StatusOr<std::vector<std::string>> BringHome(
    const std::vector<ObjectInfo>& objects, CachedStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_CACHE_LOCAL_SET_H_
