// A runner for tests: a server in its own process, children, and their pipes.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/adapters/worker/adapter.h"
#include "lib/adapters/worker/server.h"
#include "lib/worker/message.h"

namespace feedrate {

// The runner's side of one child.
class TestChild {
 public:
  TestChild(pid_t pid, int commands, int replies, int errors);
  ~TestChild();

  pid_t pid() const { return pid_; }
  // Sends a line; its newline is optional.
  void Send(const std::string& line);
  // The next line, or the reason why there is none.
  absl::StatusOr<std::string> Receive() { return reader_.Next(); }
  absl::StatusOr<std::string> Ask(const std::string& line);
  // Sends `prepare` for `transform`, with its name as native_op.
  absl::StatusOr<std::string> Prepare(const std::string& library,
                                      const std::string& transform,
                                      const std::vector<std::string>& params);
  // Send `time` and `output` with the fields that matter.
  absl::StatusOr<std::string> Time(int64_t count, int64_t chunk = 1);
  absl::StatusOr<std::string> Outputs(const std::vector<int64_t>& indexes);
  // Closes the pipe of commands.
  void HangUp();
  // Everything it writes to standard error until it ends.
  std::string Errors();

 private:
  pid_t pid_;
  int commands_;
  int replies_;
  int errors_;
  LineReader reader_;
};

// Forks a server for `adapter` and reads its hello.
class TestRunner {
 public:
  explicit TestRunner(std::unique_ptr<Adapter> adapter);
  // Hangs up and waits for the server.
  ~TestRunner();

  const Hello& hello() const { return hello_; }
  int control() const { return control_; }
  absl::StatusOr<std::string> Ask(const std::string& line);
  std::unique_ptr<TestChild> Spawn(const std::string& library,
                                   const Corpus& corpus);
  absl::StatusOr<ChildInfo> Reap(pid_t pid);
  // Hangs up and returns the server's wait status.
  int Stop();

 private:
  pid_t server_ = -1;
  int control_ = -1;
  std::unique_ptr<LineReader> reader_;
  Hello hello_;
};

// The runner's end of the control socket, for tests.

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
