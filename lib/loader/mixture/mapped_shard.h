// A shard in the address space.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_MAPPED_SHARD_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_MAPPED_SHARD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Mapped rather than read: an episode is looked at where the page cache has it,
// and of its megabyte only the frames that were drawn are touched twice.
// Thread-safe once it is made.
class MappedShard {
 public:
  // NotFound or DataLoss name the path.
  static absl::StatusOr<std::unique_ptr<MappedShard>> Open(
      const std::string& path);
  ~MappedShard();
  MappedShard(const MappedShard&) = delete;
  MappedShard& operator=(const MappedShard&) = delete;

  const std::string& path() const { return path_; }
  absl::string_view bytes() const { return bytes_; }

  // Reads a part into memory and maps its pages in one call, where a fault for
  // each would cost as much as the checksum.
  void Populate(int64_t offset, int64_t length) const;
  // Lets a part go: it stays in the page cache, but is no memory of this
  // process any more. Who looks at it again gets it again.
  void Release(int64_t offset, int64_t length) const;

 private:
  MappedShard(std::string path, absl::string_view bytes)
      : path_(std::move(path)), bytes_(bytes) {}
  void Advise(int64_t offset, int64_t length, int advice) const;

  const std::string path_;
  const absl::string_view bytes_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_MAPPED_SHARD_H_
