#include "lib/runner/pack_dataset.h"

#include <unistd.h>

#include <iostream>
#include <vector>

#include "absl/strings/str_format.h"
#include "lib/base/status_macros.h"
#include "lib/draw/progress.h"
#include "lib/loader/remote_source.h"
#include "lib/loader/source.h"
#include "lib/storage/object_store.h"
#include "lib/storage/open_store.h"
#include "lib/storage/shards.h"

namespace feedrate {

absl::StatusOr<std::string> PackDataset(const StoreSpec& spec,
                                        const std::string& folder,
                                        int64_t shard_bytes) {
  ASSIGN_OR_RETURN(const OpenedStore opened, OpenCachedStore(spec));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, opened.store->List());
  std::vector<ObjectInfo> items;
  for (const ObjectInfo& object : objects) {
    if (IsItemName(object.name)) items.push_back(object);
  }
  if (items.empty()) return NothingThere(opened.store->url(), objects.size());
  Progress progress(std::cerr, isatty(STDERR_FILENO) != 0);
  const auto totals = MakeShards(items, folder, shard_bytes, opened.store.get(),
                                 [&](int64_t done, int64_t total) {
                                   progress.Show("samples", done, total, "");
                                 });
  progress.Finish();
  RETURN_IF_ERROR(totals.status());
  return absl::StrFormat(
      "%d samples, %.1f MB, in %d shards in %s", totals->samples,
      static_cast<double>(totals->bytes) / 1e6, totals->shards, folder);
}

}  // namespace feedrate
