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

// What files are called. kNumbers: 000003/00000042.jpg is object 42, and all
// objects of a folder, which may be a class, are in one folder here; sorted
// paths are in the order of the objects. kOwn: as the objects, for data sets
// whose names mean something.
enum class LocalNames { kNumbers, kOwn };

struct LocalSet {
  std::string folder;
  std::vector<std::string> paths;
};

// Brings all objects into the cache and gives each a path below one folder. The
// files are there as long as the store, whatever the cache evicts meanwhile.
// `progress` may be null.
//
// ResourceExhausted when they do not fit: then nothing was begun, or the disk
// is full. InvalidArgument for a name of its own that is none for a file.
absl::StatusOr<LocalSet> BringHome(
    const std::vector<ObjectInfo>& objects, LocalNames names,
    CachedStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_CACHE_LOCAL_SET_H_
