#include "lib/base/tool/exit_code.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace feedrate {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kOutOfRange:
      return ExitCode::kCallersMistake;
    case absl::StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    default:
      return ExitCode::kRunFailed;
  }
}

namespace {

// The only state that the signal handler uses.
volatile sig_atomic_t caught_signal = 0;
volatile sig_atomic_t event_fd = -1;
volatile sig_atomic_t grace = 0;

ExitCode CodeOf(int number) {
  return number == SIGINT ? ExitCode::kInterrupted : ExitCode::kRunFailed;
}

extern "C" void EndNow(int) {
  constexpr char kText[] =
      "interrupted; the run did not end by itself and was ended\n";
  if (write(STDERR_FILENO, kText, sizeof(kText) - 1) < 0) {
    // The exit code remains.
  }
  _exit(static_cast<int>(CodeOf(caught_signal)));
}

extern "C" void NoteSignal(int number) {
  const int saved_errno = errno;
  caught_signal = number;
  // The next signal ends the process.
  signal(number, SIG_DFL);
  if (grace > 0) alarm(grace);
  const uint64_t one = 1;
  if (write(event_fd, &one, sizeof(one)) < 0) errno = saved_errno;
  errno = saved_errno;
}

}  // namespace

Interrupt::Interrupt(int grace_s) {
  caught_signal = 0;
  grace = grace_s;
  if (grace_s > 0) signal(SIGALRM, EndNow);
  event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  signal(SIGINT, NoteSignal);
  signal(SIGTERM, NoteSignal);
}

Interrupt::~Interrupt() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  if (grace > 0) {
    alarm(0);
    signal(SIGALRM, SIG_DFL);
  }
  close(event_fd);
  event_fd = -1;
}

int Interrupt::fd() const { return event_fd; }

bool Interrupt::happened() const { return caught_signal != 0; }

ExitCode Interrupt::exit_code() const { return CodeOf(caught_signal); }

}  // namespace feedrate
