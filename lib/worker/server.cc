#include "lib/worker/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"

namespace feedrate {
namespace {

constexpr size_t kMaxFds = 8;

// Writes all of `text` to a socket and sends `fds` (at most 8) with its first
// byte. Unavailable if the other side is gone. REQUIRES: `text` is not empty.
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

// Forking a process with a large library takes milliseconds, but much longer on
// a machine that swaps.
constexpr absl::Duration kControlLimit = absl::Seconds(30);
// Versions of libraries, or why they cannot be imported.
constexpr size_t kMostAnswerBytes = size_t{16} << 20;

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot make a pipe: ", strerror(errno)));
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Ends the server with all that was started below it, which is in its group.
// Its number stays taken until it is waited for.
int EndGroup(pid_t pid) {
  int status = 0;
  // It may not have made its group yet.
  if (kill(-pid, SIGKILL) != 0) kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

// A server that closed its socket is about to end; wait a moment to learn how.
int WaitOrKill(pid_t pid) {
  for (int i = 0; i < 100; ++i) {
    siginfo_t info;
    info.si_pid = 0;
    if (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        info.si_pid == pid) {
      break;
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
  return EndGroup(pid);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LibraryServer>> LibraryServer::Start(
    const ServerOptions& options) {
  ASSIGN_OR_RETURN(StartedProcess started,
                   StartProcess(options.argv, options.environment));
  return std::unique_ptr<LibraryServer>(
      new LibraryServer(options, started.pid, std::move(started.control),
                        std::move(started.stderr_end)));
}

LibraryServer::LibraryServer(const ServerOptions& options, pid_t pid,
                             UniqueFd control, UniqueFd stderr_end)
    : options_(options),
      pid_(pid),
      control_(std::move(control)),
      last_words_(std::move(stderr_end)),
      hello_(absl::UnavailableError("not asked yet")) {}

LibraryServer::~LibraryServer() {
  if (pid_ >= 0) EndGroup(pid_);
}

absl::Status LibraryServer::Gone() {
  std::string how = "is gone";
  if (pid_ >= 0) {
    how = ExitText(WaitOrKill(pid_));
    pid_ = -1;
  }
  last_words_.Drain();
  const std::string words = last_words_.Text();
  return absl::UnavailableError(
      absl::StrCat(options_.name, ": its server ", how,
                   words.empty() ? "" : "; last words: ", words));
}

absl::StatusOr<std::string> LibraryServer::ReadLine(absl::Duration limit) {
  const Stopwatch watch;
  while (true) {
    if (absl::optional<std::string> line = control_.TakeLine()) {
      return *std::move(line);
    }
    if (control_.closed()) return Gone();
    if (control_.unfinished() > kMostAnswerBytes) {
      EndGroup(pid_);
      pid_ = -1;
      return absl::UnavailableError(
          absl::StrCat(options_.name, ": its server wrote more than ",
                       kMostAnswerBytes, " bytes without an end of line"));
    }
    const absl::Duration left = limit - watch.Elapsed();
    if (left <= absl::ZeroDuration()) {
      last_words_.Drain();
      return absl::UnavailableError(
          absl::StrCat(options_.name, ": its server did not answer within ",
                       absl::FormatDuration(limit)));
    }
    pollfd wanted[] = {{control_.fd(), POLLIN, 0},
                       {last_words_.fd(), POLLIN, 0},
                       {options_.interrupt_fd, POLLIN, 0}};
    poll(wanted, 3,
         static_cast<int>(
             std::min(absl::ToInt64Milliseconds(left) + 1, int64_t{60000})));
    if (wanted[2].revents != 0) return absl::CancelledError("interrupted");
    if (wanted[1].revents != 0) last_words_.Drain();
    if (wanted[0].revents != 0) control_.Fill();
  }
}

absl::StatusOr<Hello> LibraryServer::WaitReady(absl::Duration limit) {
  if (hello_.ok()) return hello_;
  ASSIGN_OR_RETURN(const std::string line, ReadLine(limit));
  hello_ = ParseReply<Hello>(line);
  return hello_;
}

absl::StatusOr<ChildPipes> LibraryServer::Spawn(const std::string& library,
                                                int corpus_fd) {
  ASSIGN_OR_RETURN(Pipe commands, MakePipe());
  ASSIGN_OR_RETURN(Pipe replies, MakePipe());
  ASSIGN_OR_RETURN(Pipe error, MakePipe());
  SpawnCommand request;
  request.set_library(library);
  if (!SendWithFds(control_.fd(), CommandLine(request),
                   {commands.read_end.get(), replies.write_end.get(),
                    error.write_end.get(), corpus_fd})
           .ok()) {
    return Gone();
  }
  ASSIGN_OR_RETURN(const std::string line, ReadLine(kControlLimit));
  ASSIGN_OR_RETURN(const ChildInfo child, ParseReply<ChildInfo>(line));
  ++children_;
  ChildPipes pipes;
  pipes.pid = child.pid();
  pipes.commands = std::move(commands.write_end);
  pipes.replies = std::move(replies.read_end);
  pipes.stderr_end = std::move(error.read_end);
  return pipes;
}

absl::StatusOr<ChildInfo> LibraryServer::Reap(int64_t pid) {
  ReapCommand request;
  request.set_pid(pid);
  if (!SendWithFds(control_.fd(), CommandLine(request), {}).ok()) {
    return Gone();
  }
  ASSIGN_OR_RETURN(const std::string line, ReadLine(kControlLimit));
  if (children_ > 0) --children_;
  return ParseReply<ChildInfo>(line);
}

}  // namespace feedrate
