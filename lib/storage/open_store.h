// The store that an address names.
#ifndef FEEDRATE_LIB_STORAGE_OPEN_STORE_H_
#define FEEDRATE_LIB_STORAGE_OPEN_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/object_store.h"
#include "lib/storage/store_options.h"

namespace feedrate {

// Takes s3://bucket/prefix, gs://bucket/prefix, http(s)://host/path (a list of
// objects where it holds {000..099}), file:///folder or a folder. Asks no
// server; a wrong address or incomplete credentials are INVALID_ARGUMENT.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(
    const std::string& url, const StoreOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_OPEN_STORE_H_
