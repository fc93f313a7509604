// A shard in the address space.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_MAPPED_SHARD_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_MAPPED_SHARD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Mapped to find records by their heads; what is in them is read, since pages
// of a map come by megabytes and nobody could say how much memory they take.
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

  // A part of the file into `data`. DataLoss names the path.
  absl::Status Read(int64_t offset, int64_t length, char* data) const;
  // Lets the pages around `offset` go, once what is there was looked at.
  void Release(int64_t offset) const;

 private:
  MappedShard(std::string path, absl::string_view bytes)
      : path_(std::move(path)), bytes_(bytes) {}

  const std::string path_;
  const absl::string_view bytes_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_MAPPED_SHARD_H_
