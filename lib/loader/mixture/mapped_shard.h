// A shard in the address space.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_MAPPED_SHARD_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_MAPPED_SHARD_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace feedrate {

// Bytes of a file, read and in memory. Whoever cuts the file while they are
// looked at ends the process.
class MappedPart {
 public:
  MappedPart() = default;
  // `bytes` lie in `map`, which it owns.
  MappedPart(absl::Span<char> map, absl::string_view bytes)
      : map_(map), bytes_(bytes) {}
  MappedPart(MappedPart&& other) noexcept
      : map_(std::exchange(other.map_, {})), bytes_(other.bytes_) {}
  MappedPart& operator=(MappedPart&& other) noexcept {
    std::swap(map_, other.map_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedPart();

  absl::string_view bytes() const { return bytes_; }

 private:
  absl::Span<char> map_;
  absl::string_view bytes_;
};

// Mapped to find records by their heads; what is in them has maps of its own,
// since pages of a large map come by megabytes and nobody could say how much
// memory they take.
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

  // A part of the file, in a map of its own: only its own pages are anybody's
  // memory, and go with it. DataLoss names the path.
  absl::StatusOr<MappedPart> Map(int64_t offset, int64_t length) const;
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
