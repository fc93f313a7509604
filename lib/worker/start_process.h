// A process of ours that talks over one socket and dies with us.
#ifndef FEEDRATE_LIB_WORKER_START_PROCESS_H_
#define FEEDRATE_LIB_WORKER_START_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

struct StartedProcess {
  pid_t pid = -1;
  // Our end of its descriptor 3.
  UniqueFd control;
  // Our end of its standard error and output.
  UniqueFd stderr_end;
};

// Executes `argv` with `environment` over this process's own. Standard input is
// /dev/null; no other descriptor is passed on. It is in a session of its own,
// so that Ctrl-C reaches only us, and the kernel kills it when the calling
// thread ends. A program that cannot be executed says so on its standard error
// and exits with 127.
absl::StatusOr<StartedProcess> StartProcess(
    const std::vector<std::string>& argv,
    const std::map<std::string, std::string>& environment);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_START_PROCESS_H_
