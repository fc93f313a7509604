// Runs other programs, by an argument vector and never by a shell.
#ifndef FEEDRATE_LIB_TAR_STAGE_SUBPROCESS_H_
#define FEEDRATE_LIB_TAR_STAGE_SUBPROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "lib/tar/status.h"

namespace feedrate::tar {

// The program's path, searched for as a shell does; empty when there is none.
std::string FindProgram(const std::string& name);

// A running program whose output we read. What it says on stderr is kept for
// the message should it fail. It dies when we do.
class Subprocess {
 public:
  Subprocess() = default;
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // Starts argv[0], which FindProgram must find. Its stdin is `stdin_fd`, or
  // /dev/null when that is -1.
  Status Start(const std::vector<std::string>& argv, int stdin_fd);

  // The end of the pipe that its stdout goes to. Owned by this object.
  int output() const { return output_; }

  // Waits for its end. A failure unless it exited with 0.
  Status Wait();

  // Its failure, if it has ended with one or is just about to. One that was cut
  // off because nobody read on is none.
  Status FailureSoFar();

  // Ends it if it still runs.
  void Kill();

 private:
  Status Outcome(int result);
  std::string LastWords();

  std::string name_;
  pid_t pid_ = -1;
  int output_ = -1;
  int errors_ = -1;
};

// Runs a program to its end and returns all that it wrote to stdout.
Status RunProgram(const std::vector<std::string>& argv, std::string* output);

// Sends SIGKILL to every program that still runs. Safe in a signal handler.
void KillAllSubprocesses();

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_SUBPROCESS_H_
