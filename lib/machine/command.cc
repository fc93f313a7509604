#include "lib/machine/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "lib/base/status_macros.h"

namespace feedrate {
namespace {

// Starts `argv` in a process group of its own, so that children it leaves can
// be killed with it.
absl::StatusOr<pid_t> Start(const std::vector<std::string>& argv, int out_fd) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out_fd, 1);
  posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<char*> pointers;
  for (const std::string& arg : argv) {
    pointers.push_back(const_cast<char*>(arg.c_str()));
  }
  pointers.push_back(nullptr);
  pid_t pid;
  const int error = posix_spawnp(&pid, pointers[0], &files, &attributes,
                                 pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error == 0) return pid;
  return absl::NotFoundError(
      absl::StrCat("cannot start ", argv[0], ": ", std::strerror(error)));
}

// Appends what arrives until the other side closes. False at the deadline.
bool ReadUntilClosed(int fd, absl::Time deadline, std::string* output) {
  while (true) {
    const int64_t left_ms = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left_ms <= 0) return false;
    pollfd wanted = {fd, POLLIN, 0};
    const int ready = poll(&wanted, 1, std::min<int64_t>(left_ms, 60000));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char buffer[4096];
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output->append(buffer, got);
  }
}

// Waits for the end; false at the deadline. A program that has closed its
// output is about to end, so short sleeps cost nothing.
bool WaitUntil(pid_t pid, absl::Time deadline, int* wait_status) {
  while (waitpid(pid, wait_status, WNOHANG) == 0) {
    if (absl::Now() >= deadline) return false;
    absl::SleepFor(absl::Microseconds(200));
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& argv,
                                       absl::Duration time_limit) {
  const absl::Time deadline = absl::Now() + time_limit;
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  const absl::StatusOr<pid_t> pid = Start(argv, fds[1]);
  close(fds[1]);
  std::string output;
  int wait_status = 0;
  const bool in_time = pid.ok() && ReadUntilClosed(fds[0], deadline, &output) &&
                       WaitUntil(*pid, deadline, &wait_status);
  close(fds[0]);
  RETURN_IF_ERROR(pid.status());
  if (!in_time) {
    kill(-*pid, SIGKILL);
    while (waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) continue;
    return absl::DeadlineExceededError(absl::StrCat(
        argv[0], " took longer than ", absl::FormatDuration(time_limit)));
  }
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return output;
  return absl::AbortedError(absl::StrCat(argv[0], " failed"));
}

}  // namespace feedrate
