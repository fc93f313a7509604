// The runner's end of the control socket, for tests.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_TESTING_SOCKET_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_TESTING_SOCKET_H_

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>
#include <string>
#include <vector>

namespace feedrate {

// Sends `text` with `fds` (at most 16) on its first byte.
inline bool SendWithFds(int socket, const std::string& text,
                        const std::vector<int>& fds) {
  alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = {};
  iovec part = {const_cast<char*>(text.data()), text.size()};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  return sendmsg(socket, &message, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_TESTING_SOCKET_H_
