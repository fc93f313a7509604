// Child processes: starting one, reading its lines and the end of its standard
// error, and describing how it ended.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

struct StartedProcess {
  pid_t pid = -1;
  // Our end of the socket that is its descriptor 3.
  UniqueFd control;
  // Our end of the pipe that is its standard error and output.
  UniqueFd stderr_end;
};

// Executes `argv` with `environment` added to this process's own. Standard
// input is /dev/null; no other descriptor is passed on. The process has its own
// session, so that Ctrl-C reaches only us, and the kernel kills it when the
// calling thread ends. If the program cannot be executed, the process writes
// the reason to its standard error and exits with 127.
absl::StatusOr<StartedProcess> StartProcess(
    const std::vector<std::string>& argv,
    const std::map<std::string, std::string>& environment);

// Reads lines from a descriptor without blocking. Owns the descriptor. Not
// thread-safe.
class LineInbox {
 public:
  explicit LineInbox(UniqueFd fd);

  // For poll. -1 once closed.
  int fd() const { return fd_.get(); }
  // Reads what is available, at most a few megabytes, without waiting.
  void Fill();
  // True once the other side has closed and everything was read.
  bool closed() const { return !fd_.valid(); }
  // Returns the next complete line, without its newline.
  absl::optional<std::string> TakeLine();
  // Bytes that were read and not taken.
  size_t unfinished() const { return buffer_.size() - taken_; }
  absl::string_view rest() const {
    return absl::string_view(buffer_).substr(taken_);
  }
  // Discards rest().
  void Forget() {
    buffer_.clear();
    taken_ = searched_ = 0;
  }

 private:
  UniqueFd fd_;
  std::string buffer_;
  // Where the lines that were taken end, and up to where no other one does.
  size_t taken_ = 0;
  size_t searched_ = 0;
};

// Keeps the end of a process's standard error, to quote it in an error message.
class LastWords {
 public:
  explicit LastWords(UniqueFd fd) : inbox_(std::move(fd)) {}

  // For poll. -1 once closed.
  int fd() const { return inbox_.fd(); }
  // Reads what is available without waiting. Call it while the process runs: a
  // process that fills its pipe would block.
  void Drain();
  // Returns the last few lines joined by ` | `, cut at the front if too long.
  // Empty if there are none.
  std::string Text() const;

 private:
  LineInbox inbox_;
  std::string kept_;
};

// Describes a wait status from waitpid: `killed by SIGSEGV (Segmentation
// fault)`, `exited with code 3`.
std::string ExitText(int wait_status);

}  // namespace feedrate
