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
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
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

// Writes samples into tar shards of a given size, each with its index:
// FOLDER/shard-000000.tar, FOLDER/shard-000000.tar.index, ... A shard appears
// when it is complete, before its index. The same samples give the same bytes.
// Not thread-safe.
class ShardWriter {
 public:
  // Creates the folder. InvalidArgument when it already contains shards.
  static absl::StatusOr<std::unique_ptr<ShardWriter>> Create(
      const std::string& folder, int64_t shard_bytes);

  // Adds one sample with a single member. The member is named after the object,
  // with dots before the extension replaced by underscores, so that WebDataset
  // readers see one sample with one name. A number is added to a name that is
  // taken. InvalidArgument when the name cannot be used for a member (`..`,
  // control characters, no extension).
  absl::Status Add(const std::string& object, absl::string_view bytes);

  // Call once, after the last sample.
  absl::Status Finish();

  int64_t shards() const { return shards_; }
  int64_t samples() const { return samples_; }
  int64_t bytes() const { return bytes_; }

 private:
  ShardWriter(std::string folder, int64_t shard_bytes)
      : folder_(std::move(folder)), shard_bytes_(shard_bytes) {}
  absl::Status Write(absl::string_view bytes);
  absl::Status EndShard();

  const std::string folder_;
  const int64_t shard_bytes_;
  std::unique_ptr<NewFile> file_;  // Null when no shard is open.
  ShardIndex index_;
  std::unordered_set<std::string> keys_;  // In all shards.
  int64_t shards_ = 0;
  int64_t samples_ = 0;
  int64_t bytes_ = 0;
};

// The name of the member for `object`. InvalidArgument as for ShardWriter::Add.
absl::StatusOr<std::string> MemberName(const std::string& object);

struct ShardTotals {
  int64_t shards = 0;
  int64_t samples = 0;
  int64_t bytes = 0;
};

// Packs `objects`, in this order, into shards in `folder`. `progress` may be
// null. Fails at the first object that cannot be read or packed: shards that
// silently lack samples are worse than none.
absl::StatusOr<ShardTotals> MakeShards(
    const std::vector<ObjectInfo>& objects, const std::string& folder,
    int64_t shard_bytes, ObjectStore* store,
    const std::function<void(int64_t done, int64_t total)>& progress);

}  // namespace feedrate
