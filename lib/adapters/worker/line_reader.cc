#include "lib/adapters/worker/line_reader.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// A spawn brings four; the rest is room for what nobody should send.
constexpr int kMaxFds = 16;

void AppendFds(msghdr* message, std::vector<int>* fds) {
  for (cmsghdr* part = CMSG_FIRSTHDR(message); part != nullptr;
       part = CMSG_NXTHDR(message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const size_t before = fds->size();
    fds->resize(before + count);
    std::memcpy(fds->data() + before, CMSG_DATA(part), count * sizeof(int));
  }
}

// recvmsg for sockets, read for anything else.
ssize_t Receive(int fd, char* bytes, size_t size, std::vector<int>* fds) {
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))];
  iovec part = {bytes, size};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return errno == ENOTSOCK ? read(fd, bytes, size) : count;
  AppendFds(&message, fds);
  return count;
}

}  // namespace

LineReader::~LineReader() {
  for (int fd : fds_) close(fd);
}

absl::StatusOr<bool> LineReader::Fill() {
  char bytes[4096];
  for (;;) {
    const ssize_t count = Receive(fd_, bytes, sizeof(bytes), &fds_);
    if (count > 0) buffer_.append(bytes, count);
    if (count >= 0) return count > 0;
    if (errno == ECONNRESET) return false;
    if (errno != EINTR) {
      return absl::UnavailableError(
          absl::StrCat("cannot read: ", std::strerror(errno)));
    }
  }
}

absl::StatusOr<std::string> LineReader::Next() {
  for (;;) {
    const size_t newline = buffer_.find('\n', searched_);
    if (newline != std::string::npos) {
      std::string line = buffer_.substr(0, newline);
      buffer_.erase(0, newline + 1);
      searched_ = 0;
      return line;
    }
    searched_ = buffer_.size();
    if (buffer_.size() > kMaxLine) {
      return absl::InvalidArgumentError(
          absl::StrCat("a line of more than ", kMaxLine, " bytes"));
    }
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (more) continue;
    if (buffer_.empty()) return absl::OutOfRangeError("end of the stream");
    return absl::InvalidArgumentError("the stream ends inside a line");
  }
}

std::vector<int> LineReader::TakeFds() { return std::exchange(fds_, {}); }

absl::Status WriteLine(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(count);
    } else if (errno != EINTR) {
      return absl::UnavailableError(
          absl::StrCat("cannot write: ", std::strerror(errno)));
    }
  }
  return absl::OkStatus();
}

}  // namespace feedrate
