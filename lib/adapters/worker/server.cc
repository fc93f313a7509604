#include "lib/adapters/worker/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/child_session.h"
#include "lib/base/status_macros.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// A spawn sends four; more is room for invalid requests.
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

namespace {

// Reports why a child ends on standard error, which the runner keeps, and in a
// reply, in case the runner still reads.
int GiveUp(int replies, const absl::Status& status) {
  const std::string message =
      absl::StrCat("a worker got no command: ", status.message());
  // Nobody can be told when these fail.
  WriteLine(STDERR_FILENO, absl::StrCat(message, "\n")).IgnoreError();
  WriteLine(replies, ErrorLine(message)).IgnoreError();
  return 1;
}

// A child's life: answers the lines of `commands` on `replies` until the
// commands end or nobody reads the replies. Returns the exit status: 1, after a
// message on standard error and in a reply, when a line is not a command. Takes
// over `input_fd`.
int ServeCommands(int commands, int replies, int input_fd, Adapter* adapter) {
  ChildSession session(adapter, input_fd);
  LineReader reader(commands);
  for (;;) {
    const absl::StatusOr<std::string> line = reader.Next();
    if (absl::IsOutOfRange(line.status())) return 0;
    if (!line.ok()) return GiveUp(replies, line.status());
    const absl::StatusOr<std::string> reply = session.Answer(*line);
    if (!reply.ok()) return GiveUp(replies, reply.status());
    // The runner hung up.
    if (!WriteLine(replies, *reply).ok()) return 0;
  }
}

// Commands, replies, standard error, and a corpus or a list of files.
constexpr size_t kFdsOfAChild = 4;

void CloseAll(const std::vector<int>& fds) {
  for (int fd : fds) close(fd);
}

// CPU time so far: loading the program and its libraries.
double ImportSeconds() {
  timespec used = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec + used.tv_nsec * 1e-9;
}

class Server {
 public:
  Server(int control, Adapter* adapter)
      : control_(control), adapter_(adapter), reader_(control) {}

  absl::Status Run() {
    RETURN_IF_ERROR(SayHello());
    for (;;) {
      const absl::StatusOr<std::string> line = reader_.Next();
      if (absl::IsOutOfRange(line.status())) return absl::OkStatus();
      RETURN_IF_ERROR(line.status());
      absl::StatusOr<std::string> reply = Answer(*line);
      RETURN_IF_ERROR(reply.status());
      RETURN_IF_ERROR(WriteLine(control_, *reply));
    }
  }

  void KillChildren() {
    for (pid_t child : children_) kill(child, SIGKILL);
    for (pid_t child : children_) waitpid(child, nullptr, 0);
    children_.clear();
  }

 private:
  absl::Status SayHello() {
    Hello hello;
    hello.set_hello(1);
    hello.set_pid(getpid());
    (*hello.mutable_versions())[adapter_->library()] = adapter_->version();
    hello.set_import_s(ImportSeconds());
    return WriteLine(control_, ReplyLine(hello));
  }

  absl::StatusOr<std::string> Answer(const std::string& line) {
    ASSIGN_OR_RETURN(const ControlRequest request, ParseControlRequest(line));
    if (request.has_reap()) return Reap(request.reap().pid());
    const std::vector<int> fds = reader_.TakeFds();
    const std::string reply = Spawn(request.spawn(), fds);
    CloseAll(fds);
    return reply;
  }

  std::string Spawn(const SpawnCommand& request, const std::vector<int>& fds) {
    if (request.library() != adapter_->library()) {
      return ErrorLine(absl::StrCat("this worker is for ", adapter_->library(),
                                    ", not for ", request.library()));
    }
    if (fds.size() != kFdsOfAChild) {
      return ErrorLine(absl::StrCat("a spawn needs ", kFdsOfAChild,
                                    " file descriptors, not ", fds.size()));
    }
    const pid_t server = getpid();
    const pid_t child = fork();
    if (child < 0) {
      return ErrorLine(absl::StrCat("cannot fork: ", std::strerror(errno)));
    }
    if (child == 0) BeChild(server, fds);
    children_.insert(child);
    ChildInfo info;
    info.set_pid(child);
    return ReplyLine(info);
  }

  [[noreturn]] void BeChild(pid_t server, const std::vector<int>& fds) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The server may have died before that took effect.
    if (getppid() != server) _exit(1);
    close(control_);
    dup2(fds[2], STDOUT_FILENO);
    dup2(fds[2], STDERR_FILENO);
    close(fds[2]);
    // No destructors: they belong to the server.
    _exit(ServeCommands(fds[0], fds[1], fds[3], adapter_));
  }

  absl::StatusOr<std::string> Reap(int64_t pid) {
    const pid_t child = static_cast<pid_t>(pid);
    if (child != pid || children_.count(child) == 0) {
      return ErrorLine(absl::StrCat("no child ", pid, " to reap"));
    }
    RETURN_IF_ERROR(WaitUntilDead(child));
    ChildInfo info;
    info.set_pid(pid);
    rusage used = {};
    int status = 0;
    while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
    }
    info.set_status(status);
    info.set_max_rss(int64_t{used.ru_maxrss} * 1024);
    children_.erase(child);
    return ReplyLine(info);
  }

  // Not only by wait4, so that a runner that hangs up meanwhile is noticed.
  absl::Status WaitUntilDead(pid_t child) {
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    if (fd < 0) return absl::OkStatus();  // An old kernel: wait4 must suffice.
    pollfd events[] = {{fd, POLLIN, 0}, {control_, POLLRDHUP, 0}};
    while (poll(events, 2, -1) < 0 && errno == EINTR) {
    }
    close(fd);
    if (events[0].revents != 0) return absl::OkStatus();
    return absl::OutOfRangeError("the runner hung up");
  }

  int control_;
  Adapter* adapter_;
  LineReader reader_;
  std::set<pid_t> children_;
};

}  // namespace

absl::Status Serve(int control, Adapter* adapter) {
  // A write to a runner that is gone must be an error, not end the process.
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  // Ctrl-C reaches the whole group; the runner decides what happens then.
  signal(SIGINT, SIG_IGN);
  Server server(control, adapter);
  absl::Status status = server.Run();
  server.KillChildren();
  if (absl::IsOutOfRange(status) || absl::IsUnavailable(status)) {
    return absl::OkStatus();
  }
  return status;
}

void SettleHeap() {
  // Just below the maximum of glibc's threshold (32 MiB). Volatile, or the
  // compiler would remove it.
  constexpr size_t kBytes = size_t{31} << 20;
  void* volatile block = std::malloc(kBytes);
  std::free(block);
}

namespace {

bool IsSocket(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
         type == SOCK_STREAM;
}

}  // namespace

int WorkerMain(int argc, char** argv, std::unique_ptr<Adapter> adapter) {
  const std::string program = absl::StrCat("worker_", adapter->library());
  if (argc > 1 || !IsSocket(kControlFd)) {
    std::fprintf(stderr,
                 "%s: measures %s %s for micro, which starts it with a socket "
                 "as file descriptor %d; there is nothing to run by hand\n",
                 program.c_str(), adapter->library().c_str(),
                 adapter->version().c_str(), kControlFd);
    return 1;
  }
  SettleHeap();  // Children inherit it.
  const absl::Status status = Serve(kControlFd, adapter.get());
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", program.c_str(),
               std::string(status.message()).c_str());
  return 1;
}

}  // namespace feedrate
