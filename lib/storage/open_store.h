// Opens the store for a URL, with or without a cache.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/cache/cached_store.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// `url` is s3://bucket/prefix, gs://bucket/prefix, http(s)://host/path (a list
// of objects if it contains {000..099}), file:///folder or a folder. Does not
// contact the server. INVALID_ARGUMENT for a wrong address or incomplete
// credentials.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(
    const std::string& url, const StoreOptions& options);

// The same to write to. INVALID_ARGUMENT if it is a web server or names
// objects.
absl::StatusOr<std::unique_ptr<ObjectWriter>> OpenObjectWriter(
    const std::string& url, const StoreOptions& options);

// A store and its cache.
struct OpenedStore {
  std::shared_ptr<ObjectStore> store;
  // The same object if the store has a cache, otherwise null.
  CachedStore* cached = nullptr;
  // Whether its bytes are on this machine.
  bool is_local = false;
};

// Does not contact the server. InvalidArgument names a wrong address,
// incomplete credentials, or a cache folder that is not a cache.
absl::StatusOr<OpenedStore> OpenCachedStore(const StoreSpec& spec);

}  // namespace feedrate
