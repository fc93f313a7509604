#include "lib/worker/send_fds.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace feedrate {
namespace {

constexpr size_t kMaxFds = 8;

}  // namespace

absl::Status SendWithFds(int socket, absl::string_view text,
                         const std::vector<int>& fds) {
  if (fds.size() > kMaxFds) {
    return absl::InvalidArgumentError("too many descriptors for one message");
  }
  size_t to_attach = fds.size();
  while (!text.empty()) {
    iovec part = {const_cast<char*>(text.data()), text.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int))] = {};
    if (to_attach > 0) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(to_attach * sizeof(int));
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(to_attach * sizeof(int));
      memcpy(CMSG_DATA(header), fds.data(), to_attach * sizeof(int));
    }
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      pollfd wanted = {socket, POLLOUT, 0};
      poll(&wanted, 1, 1000);
      continue;
    }
    if (sent < 0) {
      return absl::UnavailableError(
          absl::StrCat("cannot send: ", strerror(errno)));
    }
    to_attach = 0;
    text.remove_prefix(sent);
  }
  return absl::OkStatus();
}

}  // namespace feedrate
