#include "lib/worker/process.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

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

// Runs between fork and exec, so it must not allocate or lock.
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

// Moves a descriptor that the dup2 calls above would overwrite.
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

namespace {

constexpr size_t kBlock = 1 << 16;
// A writer that never stops must not block the reader forever.
constexpr size_t kMaxFill = size_t{4} << 20;

}  // namespace

LineInbox::LineInbox(UniqueFd fd) : fd_(std::move(fd)) {
  if (!fd_.valid()) return;
  fcntl(fd_.get(), F_SETFL, fcntl(fd_.get(), F_GETFL) | O_NONBLOCK);
}

void LineInbox::Fill() {
  if (taken_ == buffer_.size()) Forget();
  char block[kBlock];
  size_t filled = 0;
  while (fd_.valid() && filled < kMaxFill) {
    const ssize_t got = read(fd_.get(), block, sizeof(block));
    if (got > 0) {
      buffer_.append(block, got);
      filled += got;
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == EAGAIN) {
      return;
    } else {
      fd_.Reset();
    }
  }
}

absl::optional<std::string> LineInbox::TakeLine() {
  const size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    // Once for all lines: moving the rest takes as long as it is.
    buffer_.erase(0, taken_);
    taken_ = 0;
    searched_ = buffer_.size();
    return absl::nullopt;
  }
  std::string line = buffer_.substr(taken_, end - taken_);
  taken_ = searched_ = end + 1;
  return line;
}

namespace {

// Enough for the last lines of a traceback and the message.
constexpr size_t kLines = 5;
constexpr size_t kBytes = 600;
// How much of a long stream is kept.
constexpr size_t kKept = 4096;

}  // namespace

void LastWords::Drain() {
  inbox_.Fill();
  while (absl::optional<std::string> line = inbox_.TakeLine()) {
    kept_.append(*line).push_back('\n');
    if (kept_.size() > 2 * kKept) kept_.erase(0, kept_.size() - kKept);
  }
  if (inbox_.unfinished() > kKept) {
    kept_ = std::string(inbox_.rest().substr(inbox_.unfinished() - kKept));
    inbox_.Forget();
  }
}

std::string LastWords::Text() const {
  const std::string all = absl::StrCat(kept_, inbox_.rest());
  std::vector<absl::string_view> lines;
  for (const absl::string_view line : absl::StrSplit(all, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (!text.empty()) lines.push_back(text);
  }
  if (lines.size() > kLines) {
    lines.erase(lines.begin(), lines.end() - kLines);
  }
  std::string text = absl::StrJoin(lines, " | ");
  if (text.size() > kBytes) text = "…" + text.substr(text.size() - kBytes);
  return text;
}

std::string ExitText(int wait_status) {
  if (WIFEXITED(wait_status)) {
    return absl::StrCat("exited with code ", WEXITSTATUS(wait_status));
  }
  if (!WIFSIGNALED(wait_status)) {
    return absl::StrCat("ended with wait status ", wait_status);
  }
  const int number = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(number);
  const char* description = sigdescr_np(number);
  if (name == nullptr || description == nullptr) {
    return absl::StrCat("killed by signal ", number);
  }
  return absl::StrCat("killed by SIG", name, " (", description, ")");
}

}  // namespace feedrate
