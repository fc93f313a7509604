// What is in a shard that lies in a store.
#ifndef FEEDRATE_LIB_STORAGE_SHARDS_SHARD_MEMBERS_H_
#define FEEDRATE_LIB_STORAGE_SHARDS_SHARD_MEMBERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/storage/object_store.h"
#include "lib/storage/shards/shard_index.h"

namespace feedrate {

// By the text of its index, which is the object `index`. FailedPrecondition
// when that is of another version of the shard.
absl::StatusOr<std::vector<ShardMember>> MembersByIndex(
    const ObjectInfo& shard, const ObjectInfo& index, const std::string& text);

// By the headers in the shard, read a megabyte at a time; what lies within a
// larger member is passed over. Plain files alone, without checksums.
// InvalidArgument when it is no whole archive.
absl::StatusOr<std::vector<ShardMember>> MembersByHeaders(
    const ObjectInfo& shard, ObjectStore* store);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_SHARDS_SHARD_MEMBERS_H_
