#include "lib/loader/read_place.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "lib/base/status_macros.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

// Reads of a pipe or a device could wait for ever: regular files open at once
// all the same.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

absl::Status ReadExactly(int fd, int64_t offset, int64_t bytes, char* data) {
  for (int64_t done = 0; done < bytes;) {
    const ssize_t n = pread(fd, data + done, bytes - done, offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError("read", errno);
    if (n == 0) {
      return absl::DataLossError(absl::StrCat("has ", done, " bytes, not the ",
                                              bytes, " it had when listed"));
    }
    done += n;
  }
  return absl::OkStatus();
}

absl::StatusOr<UniqueFd> Open(const ItemPlace& place) {
  UniqueFd file(open(place.path, kOpenFlags));
  if (!file.valid()) return FileError("open", errno);
  return file;
}

}  // namespace

absl::Status FileError(absl::string_view what, int error) {
  const std::string text =
      absl::StrCat("cannot ", what, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text)
                         : absl::DataLossError(text);
}

absl::StatusOr<absl::string_view> ReadPlace(const ItemPlace& place,
                                            ReadBuffer* buffer) {
  char* const data = buffer->Reserve(place.bytes);
  if (place.path == nullptr) {
    RETURN_IF_ERROR(ReadExactly(place.fd, place.offset, place.bytes, data));
  } else {
    ASSIGN_OR_RETURN(const UniqueFd file, Open(place));
    RETURN_IF_ERROR(ReadExactly(file.get(), place.offset, place.bytes, data));
  }
  return absl::string_view(data, place.bytes);
}

absl::StatusOr<absl::string_view> MapPlace(const ItemPlace& place,
                                           ReadBuffer* buffer) {
  if (place.bytes == 0) return absl::string_view();
  ASSIGN_OR_RETURN(const UniqueFd file, Open(place));
  // Who reads beyond the end of a map dies of it.
  const int64_t size = lseek(file.get(), 0, SEEK_END);
  if (size < place.bytes) {
    return absl::DataLossError(absl::StrCat(
        "has ", size, " bytes, not the ", place.bytes, " it had when listed"));
  }
  const char* const data = buffer->Map(file.get(), place.bytes);
  if (data == nullptr) return FileError("map", errno);
  return absl::string_view(data, place.bytes);
}

}  // namespace feedrate
