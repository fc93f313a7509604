// Tar shards: many small objects packed into a few large ones, each with an
// index of where its samples are, so that one sample is one ranged read.
//
// The index of SHARD.tar is SHARD.tar.index; tar readers do not need it:
//
//   feedrate-shard-index 1<TAB>BYTES<TAB>CRC32C      for the tar file
//   OFFSET<TAB>BYTES<TAB>CRC32C<TAB>MEMBER           one line per member, in
//   order crc32c<TAB>CRC32C                                for all preceding
//   lines
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/storage/object_store.h"

namespace feedrate {

inline constexpr char kShardIndexEnding[] = ".index";

struct ShardMember {
  std::string name;
  int64_t offset = 0;  // Where the data starts.
  int64_t bytes = 0;
  std::optional<uint32_t> crc32c;  // Unknown without an index.
};

struct ShardIndex {
  int64_t bytes = 0;  // Size of the whole tar file.
  uint32_t crc32c = 0;
  std::vector<ShardMember> members;
};

// REQUIRES: no name contains a tab or newline; every member has a checksum.
std::string PrintShardIndex(const ShardIndex& index);

// DataLoss when a line is damaged or missing, InvalidArgument when the text is
// not an index.
absl::StatusOr<ShardIndex> ParseShardIndex(absl::string_view text);

// "a/b.c.jpg" -> "a/b": the part that all members of a sample share, as defined
// by WebDataset: the path up to the first dot of the file name.
std::string SampleKey(const std::string& member);

// Lists a shard's members from `text`, the content of its index object `index`.
// FailedPrecondition when the index belongs to another version of the shard.
absl::StatusOr<std::vector<ShardMember>> MembersByIndex(
    const ObjectInfo& shard, const ObjectInfo& index, const std::string& text);

// Lists a shard's members from its headers. Reads one megabyte at a time and
// skips the rest of larger members. Returns only plain files, without
// checksums. InvalidArgument when the shard is not a complete archive.
absl::StatusOr<std::vector<ShardMember>> MembersByHeaders(
    const ObjectInfo& shard, ObjectStore* store);

// The name of the member for `object`. InvalidArgument when the
// name cannot be used for a member (`..`, control characters, no extension).
absl::StatusOr<std::string> MemberName(const std::string& object);

struct ShardTotals {
  int64_t shards = 0;
  int64_t kept = 0;  // Of these, those that were there.
  int64_t samples = 0;
  int64_t bytes = 0;
};

// Packs `objects`, in this order, into shards of at most `shard_bytes`, each
// with its index: shard-000000.tar, shard-000000.tar.index, ... A sample is one
// member, named after its object, with dots before the extension replaced by
// underscores, so that WebDataset readers see one sample with one name. A
// number is added to a name that is taken. A shard appears when it is complete,
// before its index. The same samples give the same bytes. `progress` may be
// null. Fails at the first object that cannot be read or packed: shards that
// silently lack samples are worse than none.
//
// `target`, if not null, reads what `writer` has written: shards that are there
// are kept, so that a packing that broke off can be called again.
// InvalidArgument if they have other samples.
absl::StatusOr<ShardTotals> MakeShards(
    const std::vector<ObjectInfo>& objects, int64_t shard_bytes,
    ObjectStore* store, ObjectWriter* writer, ObjectStore* target,
    const std::function<void(int64_t done, int64_t total)>& progress);

// The same into a folder. What a run that broke off has left there is made
// again. InvalidArgument if all shards are there, or some with other samples.
absl::StatusOr<ShardTotals> MakeShards(
    const std::vector<ObjectInfo>& objects, const std::string& folder,
    int64_t shard_bytes, ObjectStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace feedrate
