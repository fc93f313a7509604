// Runs other programs, with an argument vector and never through a shell.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lib/tar/status.h"

namespace feedrate::tar {

// The program's path, searched like a shell does; empty if it is not found.
std::string FindProgram(const std::string& name);

// A running program whose output we read. Its stderr is kept for the error
// message. It is killed when this process dies.
class Subprocess {
 public:
  Subprocess() = default;
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  // Starts argv[0], which FindProgram must find. Its stdin is `stdin_fd`, or
  // /dev/null if that is -1.
  Status Start(const std::vector<std::string>& argv, int stdin_fd);

  // The read end of its stdout pipe. Owned by this object.
  int output() const { return output_; }

  // Waits until it exits. Fails unless it exited with 0.
  Status Wait();

  // Its failure, if it has failed or is just about to. Being stopped because
  // nobody read its output is not a failure.
  Status FailureSoFar();

  // Kills it if it is still running.
  void Kill();

 private:
  Status Outcome(int result);
  std::string StderrTail();

  std::string name_;
  pid_t pid_ = -1;
  int output_ = -1;
  int errors_ = -1;
};

// Waits until `fd` can be read, at most `*left_ms`, and takes the time from
// it. False when the time is over.
bool WaitForInput(int fd, int64_t* left_ms);

// Runs a program and returns what it wrote to stdout. Fails, and ends it, when
// it takes longer than `timeout_s` (0: no limit) or writes more than a
// megabyte.
Status RunProgram(const std::vector<std::string>& argv, int timeout_s,
                  std::string* output);

// Sends SIGKILL to every program that is still running. Async-signal-safe.
void KillAllSubprocesses();

}  // namespace feedrate::tar
