// A data set into shards: `pipeline --make_shards`.
#ifndef FEEDRATE_LIB_RUNNER_PACK_DATASET_H_
#define FEEDRATE_LIB_RUNNER_PACK_DATASET_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "lib/storage/object_store.h"

namespace feedrate {

// Packs the images and arrays of a store, or of a folder, into shards of at
// most `shard_bytes` in `folder`. Progress goes to standard error. Returns what
// was made, for a person. InvalidArgument when there is nothing to pack, or a
// name cannot be that of a member.
absl::StatusOr<std::string> PackDataset(const StoreSpec& store,
                                        const std::string& folder,
                                        int64_t shard_bytes);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_PACK_DATASET_H_
