#include "lib/loader/mixture/mapped_shard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

// What Linux may map around a page that is looked at: a large page of the page
// cache as a whole.
constexpr int64_t kFaultAround = 2 << 20;

absl::Status Cannot(const std::string& path, absl::string_view what) {
  const std::string text =
      absl::StrCat(path, ": cannot ", what, ": ", std::strerror(errno));
  return errno == ENOENT ? absl::NotFoundError(text)
                         : absl::DataLossError(text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MappedShard>> MappedShard::Open(
    const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Cannot(path, "open");
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return Cannot(path, "look up");
  if (!S_ISREG(info.st_mode)) {
    return absl::DataLossError(absl::StrCat(path, ": is no plain file"));
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return absl::WrapUnique(new MappedShard(path, {}));
  void* const map = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (map == MAP_FAILED) return Cannot(path, "map");
  return absl::WrapUnique(
      new MappedShard(path, {static_cast<const char*>(map), size}));
}

MappedShard::~MappedShard() {
  if (bytes_.empty()) return;
  munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

void MappedShard::Release(int64_t offset) const {
  const auto size = static_cast<int64_t>(bytes_.size());
  if (offset >= size) return;
  const int64_t begin = offset / kFaultAround * kFaultAround;
  const int64_t end = std::min(begin + 2 * kFaultAround, size);
  // It is only advice.
  madvise(const_cast<char*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

absl::StatusOr<MappedPart> MappedShard::Map(int64_t offset,
                                            int64_t length) const {
  // Opened each time: a mixture may have more shards than a process files.
  const UniqueFd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return Cannot(path_, "open");
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return Cannot(path_, "look up");
  if (info.st_size < offset + length) {
    return absl::DataLossError(
        absl::StrCat(path_, ": has become shorter than it was"));
  }
  const int64_t begin = offset / getpagesize() * getpagesize();
  const auto size = static_cast<size_t>(offset + length - begin);
  void* const map =
      mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), begin);
  if (map == MAP_FAILED) return Cannot(path_, "map");
  auto* const bytes = static_cast<char*>(map);
  MappedPart part({bytes, size},
                  {bytes + (offset - begin), static_cast<size_t>(length)});
  // All at once, and what cannot be read is an error and not a signal. Kernels
  // before 5.14 do not know it, and read when the bytes are looked at.
  if (madvise(map, size, MADV_POPULATE_READ) != 0 && errno != EINVAL) {
    return Cannot(path_, "read");
  }
  return part;
}

MappedPart::~MappedPart() {
  if (!map_.empty()) munmap(map_.data(), map_.size());
}

}  // namespace feedrate
