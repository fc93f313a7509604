// A local copy of everything below an address, for data that is read by file.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// Copies the objects that are new or have changed to a folder below
// `spec.cache_folder`, deletes those that are gone, and returns the folder,
// whose last part is that of the address. Each file appears when it is whole.
// Processes that want the same copy wait for each other. InvalidArgument if
// there is no object, or one whose name leads elsewhere. REQUIRES:
// spec.cache_folder is not empty.
absl::StatusOr<std::string> CopyOfStore(const StoreSpec& spec);

}  // namespace feedrate
