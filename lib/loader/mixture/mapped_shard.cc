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

#ifndef MADV_POPULATE_READ
// Linux 5.14; older kernels refuse it, and pages come one by one.
#define MADV_POPULATE_READ 22
#endif

namespace feedrate {
namespace {

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

void MappedShard::Advise(int64_t offset, int64_t length, int advice) const {
  if (bytes_.empty()) return;
  static const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t size = static_cast<int64_t>(bytes_.size());
  const int64_t begin = offset / page * page;
  const int64_t end = std::min(offset + length, size);
  // It is only advice.
  madvise(const_cast<char*>(bytes_.data()) + begin, end - begin, advice);
}

void MappedShard::Populate(int64_t offset, int64_t length) const {
  Advise(offset, length, MADV_POPULATE_READ);
}

void MappedShard::Release(int64_t offset, int64_t length) const {
  Advise(offset, length, MADV_DONTNEED);
}

}  // namespace feedrate
