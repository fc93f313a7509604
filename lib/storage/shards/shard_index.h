// The index of a tar shard: where its samples lie, so that one is one ranged
// read.
//
//   feedrate-shard-index 1<TAB>BYTES<TAB>CRC32C      of the tar file
//   OFFSET<TAB>BYTES<TAB>CRC32C<TAB>MEMBER           a line for each, in order
//   crc32c<TAB>CRC32C                                of all lines before
//
// Of SHARD.tar it is SHARD.tar.index. Tar readers need none of it.
#ifndef FEEDRATE_LIB_STORAGE_SHARDS_SHARD_INDEX_H_
#define FEEDRATE_LIB_STORAGE_SHARDS_SHARD_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

inline constexpr char kShardIndexEnding[] = ".index";

struct ShardMember {
  std::string name;
  int64_t offset = 0;  // Of its data.
  int64_t bytes = 0;
  std::optional<uint32_t> crc32c;  // Not known without an index.
};

struct ShardIndex {
  int64_t bytes = 0;  // Of the whole tar file.
  uint32_t crc32c = 0;
  std::vector<ShardMember> members;
};

// REQUIRES: no name holds a tab or a newline; every member has its checksum.
std::string PrintShardIndex(const ShardIndex& index);

// DataLoss when a line is damaged or missing, InvalidArgument when it is no
// index at all.
absl::StatusOr<ShardIndex> ParseShardIndex(absl::string_view text);

// "a/b.c.jpg" -> "a/b": what the members of a sample share, as WebDataset has
// it: the path up to the first dot of the file's name.
std::string SampleKey(const std::string& member);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_SHARDS_SHARD_INDEX_H_
