#include "lib/tar/extract/input.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace feedrate::tar {
namespace {

// The most that an unprivileged process may ask for: fewer switches between
// the two ends.
constexpr int kPipeBytes = 1 << 20;

Status Outcome(ssize_t got, const std::string& name, size_t* count) {
  if (got < 0) return SystemFailure("cannot read", name, errno);
  *count = static_cast<size_t>(got);
  return Status();
}

}  // namespace

FileInput::FileInput(int fd, uint64_t size, std::string name)
    : fd_(fd), size_(size), name_(std::move(name)) {
  // Twice the usual read-ahead, for files that are not in the page cache.
  posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

Status FileInput::Read(char* buffer, size_t count, size_t* got) {
  ssize_t result;
  do {
    result = pread(fd_, buffer, count, static_cast<off_t>(offset_));
  } while (result < 0 && errno == EINTR);
  if (result > 0) offset_ += result;
  return Outcome(result, name_, got);
}

StreamInput::StreamInput(int fd, std::string name)
    : fd_(fd), name_(std::move(name)) {
  (void)fcntl(fd_, F_SETPIPE_SZ, kPipeBytes);  // Not a pipe: no matter.
}

Status StreamInput::Read(char* buffer, size_t count, size_t* got) {
  ssize_t result;
  do {
    result = read(fd_, buffer, count);
  } while (result < 0 && errno == EINTR);
  return Outcome(result, name_, got);
}

}  // namespace feedrate::tar
