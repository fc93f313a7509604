#include "lib/machine/page_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

absl::Status FileError(const std::string& path, const char* what) {
  const std::string text =
      absl::StrCat(path, ": cannot ", what, ": ", std::strerror(errno));
  return errno == ENOENT ? absl::NotFoundError(text)
                         : absl::UnavailableError(text);
}

struct Pages {
  int64_t all = 0;
  int64_t resident = 0;
};

absl::StatusOr<UniqueFd> Open(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return FileError(path, "open");
  return file;
}

absl::Status CountPages(const std::string& path, Pages* pages) {
  ASSIGN_OR_RETURN(const UniqueFd file, Open(path));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return FileError(path, "look at");
  if (info.st_size == 0) return absl::OkStatus();
  const int64_t page = sysconf(_SC_PAGESIZE);
  void* const map =
      mmap(nullptr, info.st_size, PROT_NONE, MAP_SHARED, file.get(), 0);
  if (map == MAP_FAILED) return FileError(path, "map");
  std::vector<unsigned char> present((info.st_size + page - 1) / page);
  const int asked = mincore(map, info.st_size, present.data());
  const int error = errno;
  munmap(map, info.st_size);
  errno = error;
  if (asked != 0) return FileError(path, "ask about");
  pages->all += static_cast<int64_t>(present.size());
  for (const unsigned char flags : present) pages->resident += flags & 1;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<double> ResidentFraction(const std::vector<std::string>& files) {
  Pages pages;
  for (const std::string& path : files) {
    RETURN_IF_ERROR(CountPages(path, &pages));
  }
  if (pages.all == 0) return 1.0;
  return static_cast<double>(pages.resident) / static_cast<double>(pages.all);
}

absl::Status DropPages(const std::vector<std::string>& files) {
  for (const std::string& path : files) {
    ASSIGN_OR_RETURN(const UniqueFd file, Open(path));
    // Pages that are not on disk yet cannot be dropped.
    if (fsync(file.get()) != 0) return FileError(path, "sync");
    const int failed = posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    if (failed == 0) continue;
    errno = failed;
    return FileError(path, "drop the pages of");
  }
  return absl::OkStatus();
}

absl::Status ReadPages(const std::vector<std::string>& files) {
  std::vector<char> buffer(1 << 20);
  for (const std::string& path : files) {
    ASSIGN_OR_RETURN(const UniqueFd file, Open(path));
    ssize_t got = 1;
    while (got > 0) {
      got = read(file.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) got = 1;
    }
    if (got < 0) return FileError(path, "read");
  }
  return absl::OkStatus();
}

}  // namespace feedrate
