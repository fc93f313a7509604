// Data sets in stores: what is in them, and how to get it here.
#ifndef FEEDRATE_LIB_RUNNER_STORE_DATA_H_
#define FEEDRATE_LIB_RUNNER_STORE_DATA_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/runner/remote_data.h"
#include "lib/storage/object_store.h"
#include "lib/storage/remote_store.h"

namespace feedrate {

// Where files go that libraries want and no cache was named for: below
// $XDG_CACHE_HOME/feedrate.
absl::StatusOr<std::unique_ptr<RemoteData>> OpenStoreData(
    const RemoteStoreSpec& spec,
    const std::function<void(const std::string&)>& say);

// Those whose names end in one of `endings` (no dot, any case).
std::vector<ObjectInfo> WithEndings(const std::vector<ObjectInfo>& objects,
                                    const std::vector<std::string>& endings);

// Says that there is nothing at an address, and what to look at. `objects` are
// there, but none of use.
absl::Status NothingThere(const std::string& address, size_t objects);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_STORE_DATA_H_
