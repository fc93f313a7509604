// One run of a command: started, pinned, timed, reaped.
#ifndef FEEDRATE_LIB_GATE_CHILD_H_
#define FEEDRATE_LIB_GATE_CHILD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedrate {

struct ChildSpec {
  std::string command;
  // Runs the command as `shell -c command`. Empty: no shell; the command is
  // cut into words at spaces outside of quotes.
  std::string shell = "/bin/sh";
  // Processors it may use. Empty: those that this process may use.
  std::vector<int> cpus;
  // It is killed after this many seconds. 0: never.
  double timeout_s = 0;
  // False: what it prints goes to /dev/null, so that nobody has to keep up.
  bool capture_output = true;
  // After the command's end, and before the clock stops, a busy loop of this
  // share of its time.
  double burn_percent = 0;
  // More variables for its environment, as `NAME=value`.
  std::vector<std::string> variables;
  // Asked now and then; true kills the command.
  std::function<bool()> is_stopped;
};

struct ChildResult {
  double wall_s = 0;
  std::string output;
  // The end of what it wrote to standard error.
  std::string error_tail;
  // As wait(2) has it.
  int wait_status = 0;
  bool timed_out = false;
  bool stopped = false;
  int64_t rss_peak_bytes = 0;

  bool ok() const { return wait_status == 0 && !timed_out && !stopped; }
  // `failed` (exit code), `crashed` (signal), `timeout`, or `ok`.
  std::string Status() const;
  // Such as "exit code 3" or "killed by signal 11 (Segmentation fault)", with
  // the last line of its standard error. Empty when ok.
  std::string Reason() const;
};

// Runs it in a process group of its own; what it leaves behind is killed.
// Standard input is empty. Fails only when it cannot be started at all.
absl::StatusOr<ChildResult> RunChild(const ChildSpec& spec);

// Words of a command line: single and double quotes and backslashes as in a
// shell, nothing else. InvalidArgument on an open quote.
absl::StatusOr<std::vector<std::string>> SplitCommand(
    const std::string& command);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_GATE_CHILD_H_
