// Items in tar files, as tar itself or WebDataset write them.
#ifndef FEEDRATE_LIB_LOADER_SHARD_SOURCE_H_
#define FEEDRATE_LIB_LOADER_SHARD_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/source.h"

namespace feedrate {

// Looks through the headers of every shard (bodies are passed over), then
// reads items where they lie. In WebDataset's naming the members of a sample
// share their path up to the first dot of the file's name, and stand together:
// the first of them that is an image or an array is the item, its labels and
// captions are passed over. An item is named SHARD:MEMBER.
//
// InvalidArgument names a shard that is no archive, or is cut off.
absl::StatusOr<std::unique_ptr<Source>> ShardSource(
    const std::vector<std::string>& shards);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_SHARD_SOURCE_H_
