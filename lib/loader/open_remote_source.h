// From a list of parts of objects to a source.
#ifndef FEEDRATE_LIB_LOADER_OPEN_REMOTE_SOURCE_H_
#define FEEDRATE_LIB_LOADER_OPEN_REMOTE_SOURCE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/source.h"
#include "lib/storage/object_store.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Opens the store, with its cache if it has one. InvalidArgument when a file of
// the list is no part of an object.
absl::StatusOr<std::unique_ptr<Source>> OpenRemoteSource(
    const StoreSpec& store, const std::vector<SourceFile>& files);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_OPEN_REMOTE_SOURCE_H_
