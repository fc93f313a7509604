// Reads data sets from object stores, copies them to this machine, and packs
// them into shards; with the flags for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "lib/runner/data/remote_data.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// Local copies go into the cache of `spec`, or, if it has none, below
// $XDG_CACHE_HOME/feedrate.
absl::StatusOr<std::unique_ptr<RemoteData>> OpenStoreData(
    const StoreSpec& spec, const std::function<void(const std::string&)>& say);

// For ToolInfo::flag_files.
inline constexpr char kStoreFlagsFile[] = "lib/runner/data/store_data.cc";

// All fields except the url. REQUIRES: flags are parsed.
absl::StatusOr<StoreSpec> StoreSpecFromFlags();

// Opens any address with the settings of the flags. REQUIRES: flags are parsed.
absl::StatusOr<OpenRemoteData> OpenStoresByFlags();

// For `pipeline --make_shards`: packs the images and arrays of a store or
// folder into shards of at most `shard_bytes` in `folder`, which may be a store
// too; what is there of them is kept then. Shows progress on
// standard error. Returns a summary for the user. InvalidArgument when there is
// nothing to pack, or a name cannot be that of a tar member.
absl::StatusOr<std::string> PackDataset(const StoreSpec& store,
                                        const std::string& folder,
                                        int64_t shard_bytes);

}  // namespace feedrate
