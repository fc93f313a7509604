#include "lib/staging/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>

namespace feedrate::tar {
namespace {

// A client and a decompressor, and room for more.
constexpr int kMaxRunning = 8;
std::atomic<pid_t> running[kMaxRunning];

void Register(pid_t pid) {
  for (auto& slot : running) {
    pid_t none = 0;
    if (slot.compare_exchange_strong(none, pid)) return;
  }
}

void Unregister(pid_t pid) {
  for (auto& slot : running) {
    pid_t expected = pid;
    if (slot.compare_exchange_strong(expected, 0)) return;
  }
}

bool IsProgram(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) &&
         access(path, X_OK) == 0;
}

// Runs in the child between fork and exec: only async-signal-safe calls.
[[noreturn]] void Become(const char* path, char* const* argv, int in, int out,
                         int err) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_DFL);
  if (in < 0) in = open("/dev/null", O_RDONLY);
  if (in >= 0) dup2(in, 0);
  if (in < 0) close(0);
  dup2(out, 1);
  if (err >= 0) dup2(err, 2);
  execv(path, argv);
  _exit(127);
}

}  // namespace

std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return IsProgram(name.c_str()) ? name : "";
  }
  const char* variable = getenv("PATH");
  const std::string path = variable != nullptr ? variable : "/usr/bin:/bin";
  size_t begin = 0;
  while (begin <= path.size()) {
    size_t end = path.find(':', begin);
    if (end == std::string::npos) end = path.size();
    const std::string folder = path.substr(begin, end - begin);
    const std::string full = (folder.empty() ? "." : folder) + "/" + name;
    if (IsProgram(full.c_str())) return full;
    begin = end + 1;
  }
  return "";
}

Subprocess::~Subprocess() {
  Kill();
  if (output_ >= 0) close(output_);
  if (errors_ >= 0) close(errors_);
}

Status Subprocess::Start(const std::vector<std::string>& argv, int stdin_fd) {
  name_ = argv[0];
  const std::string path = FindProgram(name_);
  if (path.empty()) {
    return Failed("the program " + name_ +
                  " is needed and is not on the PATH; install it");
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return SystemFailure("cannot start", name_, errno);
  }
  errors_ = memfd_create("stderr", MFD_CLOEXEC);
  std::vector<char*> words;
  for (const std::string& word : argv) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) Become(path.c_str(), words.data(), stdin_fd, ends[1], errors_);
  const int error = errno;
  close(ends[1]);
  output_ = ends[0];
  if (pid_ < 0) return SystemFailure("cannot start", name_, error);
  Register(pid_);
  return Status();
}

Status Subprocess::Wait() {
  int result = 0;
  while (waitpid(pid_, &result, 0) < 0 && errno == EINTR) {
  }
  return Outcome(result);
}

Status Subprocess::FailureSoFar() {
  // A program that has closed its output may take a moment to exit.
  constexpr int kTries = 20;
  for (int i = 0; i < kTries && pid_ > 0; ++i) {
    int result = 0;
    if (waitpid(pid_, &result, WNOHANG) == pid_) {
      const bool cut_off = WIFSIGNALED(result) && WTERMSIG(result) == SIGPIPE;
      Status outcome = Outcome(result);
      return cut_off ? Status() : outcome;
    }
    usleep(5000);
  }
  return Status();
}

Status Subprocess::Outcome(int result) {
  Unregister(pid_);
  pid_ = -1;
  if (WIFEXITED(result) && WEXITSTATUS(result) == 0) return Status();
  std::string how = WIFEXITED(result)
                        ? "exit " + std::to_string(WEXITSTATUS(result))
                        : "signal " + std::to_string(WTERMSIG(result));
  const std::string words = StderrTail();
  return Failed(name_ + " failed (" + how + ")" +
                (words.empty() ? "" : ": " + words));
}

void Subprocess::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  Unregister(pid_);
  pid_ = -1;
}

// The last line that is not empty.
std::string Subprocess::StderrTail() {
  char buffer[4096];
  const off_t size = lseek(errors_, 0, SEEK_END);
  const off_t from = size > static_cast<off_t>(sizeof(buffer))
                         ? size - static_cast<off_t>(sizeof(buffer))
                         : 0;
  const ssize_t got = pread(errors_, buffer, sizeof(buffer), from);
  if (got <= 0) return "";
  std::string text(buffer, got);
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  text.resize(end + 1);
  const size_t line = text.find_last_of("\r\n");
  return line == std::string::npos ? text : text.substr(line + 1);
}

bool WaitForInput(int fd, int64_t* left_ms) {
  using std::chrono::steady_clock;
  const steady_clock::time_point begin = steady_clock::now();
  for (;;) {
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
        steady_clock::now() - begin);
    const int64_t rest = *left_ms - waited.count();
    pollfd one = {fd, POLLIN, 0};
    const int ready =
        rest <= 0
            ? 0
            : poll(&one, 1, static_cast<int>(std::min<int64_t>(rest, 1 << 30)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && rest > 0) continue;
    *left_ms = std::max<int64_t>(0, rest);
    // What poll does not like, read explains.
    return ready != 0;
  }
}

Status RunProgram(const std::vector<std::string>& argv, int timeout_s,
                  std::string* output) {
  constexpr size_t kMaxOutput = 1 << 20;
  Subprocess program;
  TAR_RETURN_IF_ERROR(program.Start(argv, -1));
  char buffer[4096];
  int64_t left_ms = int64_t{timeout_s} * 1000;
  while (output->size() <= kMaxOutput) {
    if (timeout_s > 0 && !WaitForInput(program.output(), &left_ms)) {
      return Failed(argv[0] + " did not end in " + std::to_string(timeout_s) +
                    " s; check the server, or allow more with --timeout");
    }
    const ssize_t got = read(program.output(), buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    output->append(buffer, got);
  }
  if (output->size() > kMaxOutput) {
    return Failed(argv[0] + " says more than it could be asked for");
  }
  return program.Wait();
}

void KillAllSubprocesses() {
  for (auto& slot : running) {
    const pid_t pid = slot;
    if (pid > 0) kill(pid, SIGKILL);
  }
}

}  // namespace feedrate::tar
