// A store with its cache.
#ifndef FEEDRATE_LIB_STORAGE_OPEN_CACHED_H_
#define FEEDRATE_LIB_STORAGE_OPEN_CACHED_H_

#include <memory>

#include "absl/status/statusor.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/object_store.h"
#include "lib/storage/store_spec.h"

namespace feedrate {

struct OpenedStore {
  std::shared_ptr<ObjectStore> store;
  // The same one when it has a cache, else null.
  CachedStore* cached = nullptr;
  // Its bytes are on this machine.
  bool is_local = false;
};

// Asks no server. InvalidArgument names a wrong address or incomplete
// credentials, or a folder that is no cache.
absl::StatusOr<OpenedStore> OpenCachedStore(const StoreSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_OPEN_CACHED_H_
