#include "lib/gate/duel/timed_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "lib/base/injected_slowdown.h"
#include "lib/base/status_macros.h"
#include "lib/machine/process_counters.h"
#include "lib/machine/root.h"

namespace feedrate {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kErrorTail = 4096;
// Exit code of a child that could not start its program, as in shells.
constexpr int kCannotStart = 127;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status SystemError(const char* what) {
  return absl::InternalError(
      absl::StrCat("cannot ", what, ": ", std::strerror(errno)));
}

// All that exec needs, prepared before fork, because nothing may be allocated
// after it.
struct Image {
  std::vector<std::string> words;
  std::vector<char*> argv;
  std::vector<std::string> variables;
  std::vector<char*> env;
};

absl::StatusOr<Image> ImageOf(const TimedCommand& spec) {
  Image image;
  if (spec.shell.empty()) {
    ASSIGN_OR_RETURN(image.words, SplitCommand(spec.command));
    if (image.words.empty()) {
      return absl::InvalidArgumentError("the command is empty");
    }
  } else {
    image.words = {spec.shell, "-c", spec.command};
  }
  if (!spec.prefix.empty()) {
    if (!absl::StartsWith(image.words[0], "/")) {
      image.words.insert(image.words.begin(), "/usr/bin/env");
    }
    image.words.insert(image.words.begin(), spec.prefix.begin(),
                       spec.prefix.end());
  }
  for (std::string& word : image.words) image.argv.push_back(&word[0]);
  image.argv.push_back(nullptr);
  image.variables = spec.variables;
  if (spec.allocations != nullptr) {
    const std::vector<std::string>& more = spec.allocations->variables();
    image.variables.insert(image.variables.end(), more.begin(), more.end());
  }
  for (std::string& text : image.variables) image.env.push_back(&text[0]);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name(
        *variable, std::find(*variable, *variable + strlen(*variable), '='));
    const bool is_replaced =
        std::any_of(image.variables.begin(), image.variables.end(),
                    [&name](const std::string& text) {
                      return text.compare(0, name.size() + 1, name + "=") == 0;
                    });
    if (!is_replaced) image.env.push_back(*variable);
  }
  image.env.push_back(nullptr);
  return image;
}

[[noreturn]] void Exec(const Image& image) {
  execvpe(image.argv[0], image.argv.data(), image.env.data());
  for (const char* text :
       {"cannot start ", static_cast<const char*>(image.argv[0]), ": ",
        strerrordesc_np(errno), "\n"}) {
    [[maybe_unused]] const ssize_t written = write(2, text, strlen(text));
  }
  _exit(kCannotStart);
}

// Runs the command as a child of this process and adds the busy loop.
[[noreturn]] void ExecAndBurn(const Image& image, double percent) {
  const Clock::time_point start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0) Exec(image);
  int status = 0;
  while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  InjectedSlowdown(percent).Burn(Since(start));
  if (pid > 0 && WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(pid < 0 ? kCannotStart : WEXITSTATUS(status));
}

[[noreturn]] void BeTheChild(const TimedCommand& spec, const Image& image,
                             int in_fd, int out_fd, int error_fd) {
  setpgid(0, 0);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) {
    signal(number, SIG_DFL);
  }
  // Addresses differ from run to run, even if the caller turned that off.
  const int persona = personality(0xffffffff);
  if (persona >= 0) personality(persona & ~ADDR_NO_RANDOMIZE);
  const int null = open("/dev/null", O_RDWR);
  dup2(in_fd >= 0 ? in_fd : null, 0);
  dup2(out_fd >= 0 ? out_fd : null, 1);
  dup2(error_fd, 2);
  if (!spec.cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : spec.cpus) CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
  }
  if (!spec.folder.empty() && chdir(spec.folder.c_str()) != 0) {
    _exit(kCannotStart);
  }
  if (spec.burn_percent > 0) ExecAndBurn(image, spec.burn_percent);
  Exec(image);
}

// Appends what can be read. False at the end of the stream.
bool ReadSome(int fd, std::string* text) {
  char buffer[65536];
  const ssize_t got = read(fd, buffer, sizeof(buffer));
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  text->append(buffer, got);
  return got > 0;
}

void CutToTail(std::string* text) {
  if (text->size() > 2 * kErrorTail) {
    text->erase(0, text->size() - kErrorTail);
  }
}

// The process, which may have left its group, and the group.
void Signal(pid_t pid, int number) {
  if (getpgid(pid) != pid) kill(pid, number);
  kill(-pid, number);
}

std::string PrintedMoreThan(size_t bytes) {
  return absl::StrCat("killed because it printed more than ", bytes, " bytes");
}

// Reads both pipes until the process ends, its time is up, it is stopped, or it
// has printed too much.
void Attend(const TimedCommand& spec, pid_t pid, int pid_fd, int out_fd,
            int error_fd, Clock::time_point start, TimedCommandResult* result) {
  bool is_killed = false;
  Clock::time_point stopped_at;
  while (true) {
    pollfd wanted[3] = {
        {pid_fd, POLLIN, 0}, {out_fd, POLLIN, 0}, {error_fd, POLLIN, 0}};
    poll(wanted, 3, 50);
    if (wanted[0].revents != 0) return;
    if (wanted[1].revents != 0 && !ReadSome(out_fd, &result->output)) {
      out_fd = -1;
    }
    if (wanted[2].revents != 0 && !ReadSome(error_fd, &result->error_tail)) {
      error_fd = -1;
    }
    CutToTail(&result->error_tail);
    if (is_killed) {
      result->output.resize(
          std::min(result->output.size(), spec.most_output_bytes));
      continue;
    }
    if (!result->stopped && spec.is_stopped && spec.is_stopped()) {
      result->stopped = true;
      stopped_at = Clock::now();
      Signal(pid, SIGTERM);
    }
    result->timed_out =
        !result->stopped && spec.timeout_s > 0 && Since(start) > spec.timeout_s;
    if (result->output.size() > spec.most_output_bytes) {
      result->fault = PrintedMoreThan(spec.most_output_bytes);
    }
    if (result->timed_out || !result->fault.empty() ||
        (result->stopped && Since(stopped_at) > spec.grace_s)) {
      Signal(pid, SIGKILL);
      is_killed = true;
    }
  }
}

// The signal that ended the process or, as shells report it, the command that
// the shell ran.
int SignalOf(int wait_status) {
  if (WIFSIGNALED(wait_status)) return WTERMSIG(wait_status);
  const int code = WEXITSTATUS(wait_status);
  return code > 128 && code < 128 + 32 ? code - 128 : 0;
}

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) * 1e-6;
}

// Sets the bytes that an ended process and those it waited for read and wrote.
void SetTransfers(pid_t pid, Usage* usage) {
  const std::string text =
      Root("/").ReadText(absl::StrCat("/proc/", pid, "/io"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ": ");
    int64_t bytes = 0;
    if (words.size() != 2 || !absl::SimpleAtoi(words[1], &bytes)) continue;
    if (words[0] == "rchar") usage->set_read_bytes(bytes);
    if (words[0] == "wchar") usage->set_written_bytes(bytes);
  }
}

// Reads what was still in a pipe when the process ended, and nothing of what a
// process that it left behind goes on to write.
void Drain(int fd, std::string* text) {
  if (fd < 0) return;
  fcntl(fd, F_SETFL, O_NONBLOCK);
  int left = 0;
  ioctl(fd, FIONREAD, &left);
  const size_t end = text->size() + left;
  size_t before;
  do {
    before = text->size();
    ReadSome(fd, text);
  } while (text->size() > before && text->size() < end);
}

}  // namespace

std::string TimedCommandResult::Status() const {
  if (timed_out) return "timeout";
  if (!fault.empty()) return "failed";
  if (SignalOf(wait_status) != 0) return "crashed";
  return ok() ? "ok" : "failed";
}

std::string TimedCommandResult::Reason() const {
  if (ok()) return "";
  if (!fault.empty()) return fault;
  std::string reason;
  if (timed_out) {
    reason = absl::StrCat("killed after ", wall_s, " s");
  } else if (const int number = SignalOf(wait_status); number != 0) {
    reason =
        absl::StrCat("killed by signal ", number, " (", strsignal(number), ")");
  } else {
    reason = absl::StrCat("exit code ", WEXITSTATUS(wait_status));
  }
  const std::vector<std::string> lines =
      absl::StrSplit(error_tail, '\n', absl::SkipWhitespace());
  if (!lines.empty()) absl::StrAppend(&reason, ": ", lines.back());
  return reason;
}

absl::StatusOr<std::vector<std::string>> SplitCommand(
    const std::string& command) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < command.size(); ++i) {
    const char c = command[i];
    if (c == '\\' && quote != '\'' && i + 1 < command.size()) {
      word += command[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (in_word) words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a quote is not closed in: ", command));
  }
  if (in_word) words.push_back(word);
  return words;
}

absl::StatusOr<TimedCommandResult> RunTimedCommand(const TimedCommand& spec) {
  ASSIGN_OR_RETURN(const Image image, ImageOf(spec));
  int out[2] = {-1, -1};
  int error[2] = {-1, -1};
  if (spec.capture_output && pipe2(out, O_CLOEXEC) != 0) {
    return SystemError("make a pipe");
  }
  if (pipe2(error, O_CLOEXEC) != 0) return SystemError("make a pipe");
  const InstructionCounter instructions;
  if (spec.allocations != nullptr) spec.allocations->Reset();
  const EnergyUse energy =
      spec.energy != nullptr ? spec.energy->Read() : EnergyUse();
  const Clock::time_point start = Clock::now();
  const pid_t pid = fork();
  if (pid == 0) BeTheChild(spec, image, -1, out[1], error[1]);
  if (out[1] >= 0) close(out[1]);
  close(error[1]);
  if (pid < 0) return SystemError("start a process");
  setpgid(pid, pid);
  const int pid_fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pid_fd < 0) {
    kill(-pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return SystemError("watch a process (Linux 5.3 or newer is needed)");
  }
  TimedCommandResult result;
  Attend(spec, pid, pid_fd, out[0], error[0], start, &result);
  result.wall_s = Since(start);
  if (spec.energy != nullptr) {
    const EnergyUse used = EnergyBetween(energy, spec.energy->Read());
    if (used.cpu_j) result.energy_j = *used.cpu_j;
  }
  // The kernel forgets this file when it is waited for.
  SetTransfers(pid, &result.usage);
  rusage usage = {};
  while (wait4(pid, &result.wait_status, 0, &usage) < 0 && errno == EINTR) {
    continue;
  }
  result.rss_peak_bytes = static_cast<int64_t>(usage.ru_maxrss) * 1024;
  result.usage.set_cpu_s(SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime));
  result.usage.set_page_faults(usage.ru_minflt + usage.ru_majflt);
  if (const auto count = instructions.Read(); count.has_value()) {
    result.usage.set_instructions(*count);
  }
  // Processes that it left behind would disturb the next run.
  kill(-pid, SIGKILL);
  if (spec.allocations != nullptr) {
    result.uncounted_reason =
        std::string(spec.allocations->Read(&result.usage).message());
  }
  Drain(out[0], &result.output);
  Drain(error[0], &result.error_tail);
  close(pid_fd);
  if (out[0] >= 0) close(out[0]);
  close(error[0]);
  return result;
}

absl::StatusOr<std::unique_ptr<LiveCommand>> LiveCommand::Start(
    const TimedCommand& spec) {
  ASSIGN_OR_RETURN(const Image image, ImageOf(spec));
  // A write to a pipe that nobody reads would end this process (SIGPIPE).
  int in[2], out[2], error[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0 ||
      pipe2(out, O_CLOEXEC) != 0 || pipe2(error, O_CLOEXEC) != 0) {
    return SystemError("make a pipe");
  }
  const pid_t pid = fork();
  if (pid == 0) BeTheChild(spec, image, in[0], out[1], error[1]);
  for (const int fd : {in[0], out[1], error[1]}) close(fd);
  const int pid_fd =
      pid < 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  std::unique_ptr<LiveCommand> live(
      new LiveCommand(spec, pid, pid_fd, in[1], out[0], error[0]));
  if (pid < 0) return SystemError("start a process");
  setpgid(pid, pid);
  if (pid_fd < 0) return SystemError("watch a process");
  return live;
}

LiveCommand::LiveCommand(const TimedCommand& spec, pid_t pid, int pid_fd,
                         int in_fd, int out_fd, int error_fd)
    : spec_(spec),
      pid_(pid),
      pid_fd_(pid_fd),
      in_fd_(in_fd),
      out_fd_(out_fd),
      error_fd_(error_fd) {}

LiveCommand::~LiveCommand() {
  if (pid_ <= 0) return;
  in_fd_ = UniqueFd();
  pollfd end = {pid_fd_.get(), POLLIN, 0};
  poll(&end, 1, 1000);
  Signal(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
}

TimedCommandResult LiveCommand::Ask(const std::string& question) {
  TimedCommandResult result;
  const Clock::time_point start = Clock::now();
  const std::string line = question + "\n";
  bool has_ended = send(in_fd_.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
                   static_cast<ssize_t>(line.size());
  const auto is_answered = [&result] {
    return result.output == "\n" || absl::EndsWith(result.output, "\n\n");
  };
  while (!has_ended && !is_answered()) {
    pollfd wanted[3] = {{pid_fd_.get(), POLLIN, 0},
                        {out_fd_.get(), POLLIN, 0},
                        {error_fd_.get(), POLLIN, 0}};
    poll(wanted, 3, 50);
    if (wanted[2].revents != 0) ReadSome(error_fd_.get(), &error_tail_);
    CutToTail(&error_tail_);
    if (wanted[1].revents != 0) {
      has_ended = !ReadSome(out_fd_.get(), &result.output);
    } else {
      has_ended = wanted[0].revents != 0;
    }
    result.stopped = spec_.is_stopped && spec_.is_stopped();
    result.timed_out = spec_.timeout_s > 0 && Since(start) > spec_.timeout_s;
    if (result.output.size() > spec_.most_output_bytes) {
      result.fault = PrintedMoreThan(spec_.most_output_bytes);
    }
    if (result.stopped || result.timed_out || !result.fault.empty()) break;
  }
  result.wall_s = Since(start);
  if (result.fault.empty() && is_answered()) {
    result.output.pop_back();
    return result;
  }
  Signal(pid_, SIGKILL);
  if (has_ended) {
    siginfo_t info = {};
    waitid(P_PID, pid_, &info, WEXITED | WNOWAIT);
    result.wait_status =
        info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
  }
  Drain(error_fd_.get(), &error_tail_);
  result.error_tail = error_tail_;
  if (result.ok()) result.fault = "it ended without an answer";
  return result;
}

}  // namespace feedrate
