#include "lib/worker/line_inbox.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/types/optional.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

constexpr size_t kBlock = 1 << 16;
// A writer that never stops must not keep the reader from its other duties.
constexpr size_t kMaxFill = size_t{4} << 20;

}  // namespace

void SetNonBlocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

LineInbox::LineInbox(UniqueFd fd) : fd_(std::move(fd)) {
  if (fd_.valid()) SetNonBlocking(fd_.get());
}

void LineInbox::Fill() {
  char block[kBlock];
  size_t taken = 0;
  while (fd_.valid() && taken < kMaxFill) {
    const ssize_t got = read(fd_.get(), block, sizeof(block));
    if (got > 0) {
      buffer_.append(block, got);
      taken += got;
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == EAGAIN) {
      return;
    } else {
      fd_.Reset();
    }
  }
}

absl::optional<std::string> LineInbox::TakeLine() {
  const size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return absl::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

}  // namespace feedrate
