#include "lib/storage/open_cached.h"

#include <utility>

#include "absl/strings/match.h"
#include "lib/base/status_macros.h"
#include "lib/storage/cache/cache_dir.h"
#include "lib/storage/open_store.h"

namespace feedrate {

absl::StatusOr<OpenedStore> OpenCachedStore(const StoreSpec& spec) {
  OpenedStore opened;
  ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> store,
                   OpenObjectStore(spec.url, spec.options));
  opened.is_local = absl::StartsWith(store->url(), "file://");
  if (spec.cache_folder.empty()) {
    opened.store = std::move(store);
    return opened;
  }
  CacheOptions options;
  options.folder = spec.cache_folder;
  options.max_bytes = spec.cache_bytes;
  ASSIGN_OR_RETURN(std::unique_ptr<CacheDir> cache, CacheDir::Open(options));
  auto cached =
      std::make_shared<CachedStore>(std::move(store), std::move(cache));
  opened.cached = cached.get();
  opened.store = std::move(cached);
  return opened;
}

}  // namespace feedrate
