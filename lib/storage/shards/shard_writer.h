// Writes samples into tar shards of a given size, each with its index.
#ifndef FEEDRATE_LIB_STORAGE_SHARDS_SHARD_WRITER_H_
#define FEEDRATE_LIB_STORAGE_SHARDS_SHARD_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/base/files.h"
#include "lib/storage/shards/shard_index.h"

namespace feedrate {

// FOLDER/shard-000000.tar, FOLDER/shard-000000.tar.index, ... A shard appears
// when it is whole, before its index. The same samples give the same bytes.
// Not thread-safe.
class ShardWriter {
 public:
  // Makes the folder. InvalidArgument when it has shards already.
  static absl::StatusOr<std::unique_ptr<ShardWriter>> Create(
      const std::string& folder, int64_t shard_bytes);

  // One sample, of a single member. Its name is that of the object, dots before
  // the ending made underscores, so that readers of WebDataset see one sample
  // of one name; a name that is taken gets a number. InvalidArgument when it
  // cannot be that of a member (`..`, control characters, no ending).
  absl::Status Add(const std::string& object, absl::string_view bytes);

  // Once, after the last sample.
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
  std::unique_ptr<NewFile> file_;  // Null: no shard is open.
  ShardIndex index_;
  std::unordered_set<std::string> keys_;  // Of all shards.
  int64_t shards_ = 0;
  int64_t samples_ = 0;
  int64_t bytes_ = 0;
};

// What a member is called that holds `object`. InvalidArgument as above.
absl::StatusOr<std::string> MemberName(const std::string& object);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_SHARDS_SHARD_WRITER_H_
