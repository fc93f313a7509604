// Running another program for its output.
#ifndef FEEDRATE_LIB_MACHINE_COMMAND_H_
#define FEEDRATE_LIB_MACHINE_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace feedrate {

// Runs a program, found in PATH, without a shell, and returns what it wrote to
// standard output; standard input and error are /dev/null. NotFound when it
// cannot be started, DeadlineExceeded when it and its children had to be killed
// after `time_limit`, Aborted when it exited with anything but 0.
absl::StatusOr<std::string> RunCommand(const std::vector<std::string>& argv,
                                       absl::Duration time_limit);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_COMMAND_H_
