// Runs a command in a process of its own: pinned to processors, timed, with a
// time limit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "lib/base/unique_fd.h"
#include "lib/gate/duel/allocations/allocation_counter.h"
#include "lib/machine/energy.h"
#include "lib/records/row.pb.h"

namespace feedrate {

struct TimedCommand {
  std::string command;
  // Runs the command as `shell -c command`. Empty: no shell; the command is
  // split into words at spaces outside of quotes (see SplitCommand).
  std::string shell = "/bin/sh";
  // Words before the command's own, such as those of ConfinedPrefix, which need
  // the full path of what they start.
  std::vector<std::string> prefix;
  // The folder to run it in. Empty: that of this process.
  std::string folder;
  // Processors that the command may use. Empty: the same as this process.
  std::vector<int> cpus;
  // Kills the command after this many seconds. 0: never.
  double timeout_s = 0;
  // If false, standard output goes to /dev/null, so that this process need not
  // read it. Else a command that prints more than this is killed.
  bool capture_output = true;
  size_t most_output_bytes = size_t{1} << 30;
  // Runs a busy loop for this share of the command's time, after its end and
  // before the clock stops.
  double burn_percent = 0;
  // Additional environment variables, as `NAME=value`.
  std::vector<std::string> variables;
  // Called regularly; true ends the command: SIGTERM, and SIGKILL if it is
  // still there after `grace_s`.
  std::function<bool()> is_stopped;
  double grace_s = 10;
  // Measures the energy of the run. May be null.
  EnergyMeter* energy = nullptr;
  // Counts the allocations of the run. May be null.
  AllocationCounter* allocations = nullptr;
};

struct TimedCommandResult {
  double wall_s = 0;
  std::string output;
  // The end of its standard error.
  std::string error_tail;
  // The status from wait(2).
  int wait_status = 0;
  bool timed_out = false;
  bool stopped = false;
  // What the command did against the rules of the duel, and was killed for if
  // it had not ended.
  std::string fault;
  // Peak resident memory of its largest process.
  int64_t rss_peak_bytes = 0;
  // Sums over all its processes that were waited for.
  Usage usage;
  // Why allocations were not counted although there is a counter.
  std::string uncounted_reason;
  // Joules of the processors, including what others used. Absent if unknown.
  absl::optional<double> energy_j;

  bool ok() const {
    return wait_status == 0 && !timed_out && !stopped && fault.empty();
  }
  // `failed` (exit code), `crashed` (signal), `timeout`, or `ok`.
  std::string Status() const;
  // Such as "exit code 3" or "killed by signal 11 (Segmentation fault)", with
  // the last line of standard error. Empty when ok.
  std::string Reason() const;
};

// Runs the command in its own process group, and kills what it leaves behind.
// Standard input is empty. Fails only when the command cannot be started.
absl::StatusOr<TimedCommandResult> RunTimedCommand(const TimedCommand& spec);

// A command that goes on until it is told to end, and answers questions: a line
// on its standard input, lines and an empty one on its standard output.
class LiveCommand {
 public:
  // `spec` as for RunTimedCommand; energy, allocations and the busy loop are
  // not used.
  static absl::StatusOr<std::unique_ptr<LiveCommand>> Start(
      const TimedCommand& spec);
  // Closes its standard input, and kills it if it is still there a second
  // later.
  ~LiveCommand();
  LiveCommand(const LiveCommand&) = delete;
  LiveCommand& operator=(const LiveCommand&) = delete;

  // `output` is the answer without the empty line, `wall_s` how long it took.
  // A command that ends instead, or takes longer than `spec.timeout_s`, has not
  // run to completion, even with exit code 0; it must not be asked again.
  TimedCommandResult Ask(const std::string& question);

 private:
  LiveCommand(const TimedCommand& spec, pid_t pid, int pid_fd, int in_fd,
              int out_fd, int error_fd);

  const TimedCommand spec_;
  const pid_t pid_;
  const UniqueFd pid_fd_;
  UniqueFd in_fd_;
  const UniqueFd out_fd_;
  const UniqueFd error_fd_;
  std::string error_tail_;
};

// Splits a command line into words. Supports single and double quotes and
// backslashes as in a shell, nothing else. InvalidArgument on an open quote.
absl::StatusOr<std::vector<std::string>> SplitCommand(
    const std::string& command);

}  // namespace feedrate
