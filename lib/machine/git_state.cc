#include "lib/machine/git_state.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "lib/base/files.h"
#include "lib/base/status_macros.h"
#include "lib/base/stopwatch.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

// Starts `argv` in its own process group, so that its children can be killed
// with it.
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

// The changes of a checkout, or the transforms of a subject.
constexpr size_t kMostOutputBytes = size_t{64} << 20;

// Reads until the other side closes. Returns false at a limit.
bool ReadUntilClosed(int fd, const Stopwatch& watch, absl::Duration limit,
                     std::string* output) {
  while (true) {
    const int64_t left_ms = absl::ToInt64Milliseconds(limit - watch.Elapsed());
    if (left_ms <= 0) return false;
    pollfd wanted = {fd, POLLIN, 0};
    const int ready = poll(&wanted, 1, std::min<int64_t>(left_ms, 60000));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char buffer[4096];
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    output->append(buffer, got);
    if (output->size() > kMostOutputBytes) return false;
  }
}

// Waits for the process to end. Returns false at the limit. A program that
// has closed its output is about to end, so polling with short sleeps is cheap.
bool WaitForEnd(pid_t pid, const Stopwatch& watch, absl::Duration limit,
                int* wait_status) {
  while (waitpid(pid, wait_status, WNOHANG) == 0) {
    if (watch.Elapsed() >= limit) return false;
    absl::SleepFor(absl::Microseconds(200));
  }
  return true;
}

}  // namespace

absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& argv,
                                       absl::Duration time_limit) {
  const Stopwatch watch;
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot make a pipe: ", std::strerror(errno)));
  }
  const absl::StatusOr<pid_t> pid = Start(argv, fds[1]);
  close(fds[1]);
  std::string output;
  int wait_status = 0;
  const bool in_time = pid.ok() &&
                       ReadUntilClosed(fds[0], watch, time_limit, &output) &&
                       WaitForEnd(*pid, watch, time_limit, &wait_status);
  close(fds[0]);
  RETURN_IF_ERROR(pid.status());
  if (!in_time) {
    // It may have left its group.
    kill(*pid, SIGKILL);
    kill(-*pid, SIGKILL);
    while (waitpid(*pid, nullptr, 0) < 0 && errno == EINTR) continue;
    if (output.size() > kMostOutputBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          argv[0], " printed more than ", kMostOutputBytes, " bytes"));
    }
    return absl::DeadlineExceededError(absl::StrCat(
        argv[0], " took longer than ", absl::FormatDuration(time_limit)));
  }
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return output;
  return absl::AbortedError(absl::StrCat(argv[0], " failed"));
}

namespace {

// It usually takes milliseconds; a checkout on a slow network disk must not
// delay a measurement for longer than this.
constexpr absl::Duration kTimeLimit = absl::Seconds(2);

bool IsHash(absl::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
}

// Returns `folder` or the nearest parent that contains `.git`. Empty if there
// is none.
std::string FindTop(const std::string& folder) {
  char* const real = realpath(folder.c_str(), nullptr);
  if (real == nullptr) return "";
  std::string top = real;
  free(real);
  while (!Root().Exists(absl::StrCat(top, "/.git"))) {
    if (top == "/" || top.empty()) return "";
    top = ParentFolder(top);
  }
  return top;
}

// Finds the hash of a branch in git's packed-refs file.
std::string FindPackedRef(const std::string& git, absl::string_view ref) {
  const std::string packed = Root().Read(git + "/packed-refs").value_or("");
  for (absl::string_view line : absl::StrSplit(packed, '\n')) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (entry.second == ref && IsHash(entry.first)) {
      return std::string(entry.first);
    }
  }
  return "";
}

}  // namespace

GitState ParseGitStatus(absl::string_view output) {
  GitState state;
  state.dirty = false;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (absl::ConsumePrefix(&line, "# branch.oid ")) {
      if (IsHash(line)) state.revision = std::string(line);
    } else if (!line.empty() && line[0] != '#' && line[0] != '?') {
      state.dirty = true;
    }
  }
  return state;
}

std::string ReadRevisionFiles(const std::string& top) {
  const Root files;
  // In a worktree or submodule `.git` is a file with the path of the git
  // folder, and `commondir` in that folder has the path of what all worktrees
  // share.
  std::string git = absl::StrCat(top, "/.git");
  const std::string link = files.ReadText(git);
  absl::string_view target = link;
  if (absl::ConsumePrefix(&target, "gitdir:")) {
    git = JoinPath(top, absl::StripAsciiWhitespace(target));
  }
  const std::string common = files.ReadText(git + "/commondir");
  const std::string shared = common.empty() ? git : JoinPath(git, common);

  const std::string head = files.ReadText(git + "/HEAD");
  absl::string_view ref = head;
  if (!absl::ConsumePrefix(&ref, "ref: ")) return IsHash(head) ? head : "";
  for (const std::string& folder : {git, shared}) {
    const std::string hash = files.ReadText(absl::StrCat(folder, "/", ref));
    if (IsHash(hash)) return hash;
  }
  return FindPackedRef(shared, ref);
}

GitState ReadGitState(const std::string& folder) {
  const std::string top = FindTop(folder);
  if (top.empty()) return {};
  // One call returns both revision and changes. Optional locks are off, so that
  // reading a checkout cannot disturb a commit in progress.
  const absl::StatusOr<std::string> output = RunCommand(
      {"git", "--no-optional-locks", "-C", top, "status", "--porcelain=v2",
       "--branch", "--untracked-files=no", "--ignore-submodules=untracked"},
      kTimeLimit);
  if (output.ok()) return ParseGitStatus(*output);
  GitState state;
  state.revision = ReadRevisionFiles(top);
  return state;
}

}  // namespace feedrate
