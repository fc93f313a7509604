// All that it takes to read a data set from a store, in a form that can be
// handed to another process.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_STORE_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_STORE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/object_store.h"
#include "lib/storage/store_options.h"

namespace feedrate {

// Credentials are no part of it: every process finds them for itself.
struct RemoteStoreSpec {
  std::string url;
  StoreOptions options;
  std::string cache_folder;  // Empty: nothing is kept.
  int64_t cache_bytes = 0;   // 0: no limit.
};

// By name, as settings are.
std::map<std::string, std::string> PrintRemoteStore(
    const RemoteStoreSpec& spec);
// InvalidArgument names what is missing, unknown or no number.
absl::StatusOr<RemoteStoreSpec> ParseRemoteStore(
    const std::map<std::string, std::string>& fields);

struct OpenedStore {
  std::shared_ptr<ObjectStore> store;
  // The same one when it has a cache, else null.
  CachedStore* cached = nullptr;
  // Its bytes are on this machine.
  bool is_local = false;
};
absl::StatusOr<OpenedStore> OpenRemoteStore(const RemoteStoreSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_STORE_H_
