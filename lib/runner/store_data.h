// Data sets in stores: what is in them, and how to get it here.
#ifndef FEEDRATE_LIB_RUNNER_STORE_DATA_H_
#define FEEDRATE_LIB_RUNNER_STORE_DATA_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/runner/remote_data.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// Files that libraries want go into the cache of `spec`, or where it has none,
// below $XDG_CACHE_HOME/feedrate.
absl::StatusOr<std::unique_ptr<RemoteData>> OpenStoreData(
    const StoreSpec& spec, const std::function<void(const std::string&)>& say);

// The same for RunOptions: opens any address as `spec` says.
OpenRemoteData OpenStoresBy(const StoreSpec& spec);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_STORE_DATA_H_
