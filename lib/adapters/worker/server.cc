#include "lib/adapters/worker/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "lib/adapters/worker/line_reader.h"
#include "lib/adapters/worker/serve_commands.h"
#include "lib/base/status_macros.h"
#include "lib/worker/message.h"

namespace feedrate {
namespace {

// Commands, replies, standard error, and a corpus or a list of files.
constexpr size_t kFdsOfAChild = 4;

void CloseAll(const std::vector<int>& fds) {
  for (int fd : fds) close(fd);
}

// Processor time up to here: loading the program and its libraries.
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
    hello.pid = getpid();
    hello.versions[adapter_->library()] = adapter_->version();
    hello.import_s = ImportSeconds();
    return WriteLine(control_, HelloLine(hello));
  }

  absl::StatusOr<std::string> Answer(const std::string& line) {
    ASSIGN_OR_RETURN(const ControlRequest request, ParseControlRequest(line));
    if (request.op == ControlRequest::Op::kReap) return Reap(request.pid);
    const std::vector<int> fds = reader_.TakeFds();
    const std::string reply = Spawn(request, fds);
    CloseAll(fds);
    return reply;
  }

  std::string Spawn(const ControlRequest& request,
                    const std::vector<int>& fds) {
    if (request.library != adapter_->library()) {
      return ErrorLine(absl::StrCat("this worker is for ", adapter_->library(),
                                    ", not for ", request.library));
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
    return SpawnedLine(child);
  }

  [[noreturn]] void BeChild(pid_t server, const std::vector<int>& fds) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The server may have died before that took effect.
    if (getppid() != server) _exit(1);
    close(control_);
    dup2(fds[2], STDOUT_FILENO);
    dup2(fds[2], STDERR_FILENO);
    close(fds[2]);
    // No destructors: what they would do belongs to the server.
    _exit(ServeCommands(fds[0], fds[1], fds[3], adapter_));
  }

  absl::StatusOr<std::string> Reap(int64_t pid) {
    const pid_t child = static_cast<pid_t>(pid);
    if (child != pid || children_.count(child) == 0) {
      return ErrorLine(absl::StrCat("no child ", pid, " to reap"));
    }
    RETURN_IF_ERROR(WaitUntilDead(child));
    ChildInfo info;
    info.pid = pid;
    rusage used = {};
    while (wait4(child, &info.status, 0, &used) < 0 && errno == EINTR) {
    }
    info.max_rss = int64_t{used.ru_maxrss} * 1024;
    children_.erase(child);
    return ReapedLine(info);
  }

  // Not by wait4 alone: a runner that goes away meanwhile must be noticed.
  absl::Status WaitUntilDead(pid_t child) {
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    if (fd < 0) return absl::OkStatus();  // An old kernel: wait4 has to do.
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
  // A write to a runner that is gone shall be an error, not a death.
  signal(SIGPIPE, SIG_IGN);
  // Ctrl-C reaches the whole group; what happens then is the runner's choice.
  signal(SIGINT, SIG_IGN);
  Server server(control, adapter);
  absl::Status status = server.Run();
  server.KillChildren();
  if (absl::IsOutOfRange(status) || absl::IsUnavailable(status)) {
    return absl::OkStatus();
  }
  return status;
}

}  // namespace feedrate
