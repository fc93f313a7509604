#include "lib/worker/start_process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "lib/base/unique_fd.h"

namespace feedrate {
namespace {

constexpr int kControlFd = 3;

std::vector<std::string> MergedEnvironment(
    const std::map<std::string, std::string>& own) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const absl::string_view text(*entry);
    const std::string name(text.substr(0, text.find('=')));
    if (own.find(name) == own.end()) merged.emplace_back(text);
  }
  for (const auto& [name, value] : own) {
    merged.push_back(absl::StrCat(name, "=", value));
  }
  return merged;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec: nothing here may allocate or lock.
[[noreturn]] void Become(char* const* argv, char* const* environment,
                         pid_t parent, int control, int stderr_fd,
                         int null_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  setsid();
  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(null_fd, 0);
  dup2(stderr_fd, 1);
  dup2(stderr_fd, 2);
  dup2(control, kControlFd);
  syscall(SYS_close_range, kControlFd + 1, ~0U, 0);
  execve(argv[0], argv, environment);
  const char* const parts[] = {argv[0], ": ", strerrordesc_np(errno)};
  for (const char* part : parts) {
    if (write(2, part, strlen(part)) < 0) break;
  }
  _exit(127);
}

// Copies a descriptor that dup2 above would overwrite out of the way.
bool KeepAboveControl(UniqueFd* fd) {
  if (fd->get() > kControlFd) return true;
  fd->Reset(fcntl(fd->get(), F_DUPFD_CLOEXEC, kControlFd + 1));
  return fd->valid();
}

}  // namespace

absl::StatusOr<StartedProcess> StartProcess(
    const std::vector<std::string>& argv,
    const std::map<std::string, std::string>& environment) {
  int control[2] = {-1, -1};
  int error[2] = {-1, -1};
  const bool made =
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == 0 &&
      pipe2(error, O_CLOEXEC) == 0;
  StartedProcess started;
  started.control.Reset(control[0]);
  started.stderr_end.Reset(error[0]);
  UniqueFd child_control(control[1]);
  UniqueFd child_error(error[1]);
  UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid()) {
    return absl::UnavailableError(
        absl::StrCat(argv[0], ": cannot open /dev/null: ", strerror(errno)));
  }
  if (!made || !KeepAboveControl(&child_control) ||
      !KeepAboveControl(&child_error) || !KeepAboveControl(&null)) {
    return absl::UnavailableError(
        absl::StrCat(argv[0], ": no more descriptors: ", strerror(errno)));
  }
  const std::vector<std::string> merged = MergedEnvironment(environment);
  const std::vector<char*> arguments = Pointers(argv);
  const std::vector<char*> variables = Pointers(merged);
  const pid_t parent = getpid();
  started.pid = fork();
  if (started.pid == 0) {
    Become(arguments.data(), variables.data(), parent, child_control.get(),
           child_error.get(), null.get());
  }
  if (started.pid < 0) {
    return absl::UnavailableError(
        absl::StrCat(argv[0], ": cannot fork: ", strerror(errno)));
  }
  return started;
}

}  // namespace feedrate
