#include "lib/base/allowed_sizes.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace feedrate {

bool ParseObjectBytes(absl::string_view text, int64_t* bytes) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0 || value > kMaxObjectBytes) {
    return false;
  }
  *bytes = value;
  return true;
}

absl::Status CheckItemBytes(int64_t bytes) {
  if (bytes >= 0 && bytes <= kMaxItemBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("has ", bytes, " bytes, and an item may have ",
                   kMaxItemBytes, "; remove it, or split it"));
}

absl::Status CheckItemBytes(absl::string_view name, int64_t bytes) {
  const absl::Status status = CheckItemBytes(bytes);
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(absl::Utf8SafeCHexEscape(name), ": ", status.message()));
}

absl::Status CheckHasEnd(absl::string_view name, int fd) {
  struct stat info;
  const bool is_device =
      fstat(fd, &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode));
  if (!is_device || isatty(fd) == 1 ||
      (major(info.st_rdev) == 1 && minor(info.st_rdev) == 3)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      absl::Utf8SafeCHexEscape(name),
      ": is a device, which may have no end; name a file or a pipe"));
}

DatasetSize::DatasetSize()
    : max_memory_(std::min<int64_t>(
          kMaxListBytes, sysconf(_SC_PHYS_PAGES) / 2 * sysconf(_SC_PAGESIZE))) {
}

absl::Status DatasetSize::Add(absl::string_view name, int64_t bytes,
                              int64_t memory) {
  if (bytes < 0 || bytes > kMaxObjectBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::Utf8SafeCHexEscape(name), ": has ", bytes,
                     " bytes, and an object may have ", kMaxObjectBytes));
  }
  bytes_ += bytes;
  ++objects_;
  memory_ += static_cast<int64_t>(name.size()) + memory;
  if (memory_ > max_memory_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the list of its objects takes more than ",
                     max_memory_ >> 20, " MiB of memory (", objects_,
                     " objects so far); read a smaller part "
                     "of the data set, or pack it into shards"));
  }
  if (bytes_ <= kMaxDatasetBytes && objects_ <= kMaxDatasetObjects) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "more than ", kMaxDatasetObjects, " objects or ", kMaxDatasetBytes,
      " bytes; read a smaller part of the data set"));
}

}  // namespace feedrate
