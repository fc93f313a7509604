// Which program serves a library, and where it is.
#ifndef FEEDRATE_LIB_RUNNER_WORKER_COMMAND_H_
#define FEEDRATE_LIB_RUNNER_WORKER_COMMAND_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace feedrate {

// Where programs and environments are looked for.
struct WorkerPlaces {
  // Folders with `worker_NAME`, lib/adapters/NAME/worker_NAME or
  // lib/loader/worker/worker_native, and with
  // lib/adapters/python or python/server.py, in the order of looking.
  std::vector<std::string> folders;
  // Folder of the Python environments.
  std::string environments;
  // With requirements/SET/GROUP.lock.
  std::string configs;
};

// $FEEDRATE_WORKERS, the running program's runfiles, the build tree around it,
// ../libexec of a bundle; the user's cache.
WorkerPlaces PlacesOfThisProgram(const std::string& configs);

// How to start a server.
struct WorkerCommand {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
};

// The C++ worker of `library`. NotFound says what to build.
absl::StatusOr<WorkerCommand> NativeWorker(const WorkerPlaces& places,
                                           const std::string& library);

// A Python server.
struct PythonServer {
  std::string env_set;
  std::string env_group;
  // Which all are in `env_group`.
  std::vector<std::string> libraries;
  // Whether it serves loaders.
  bool loader = false;
  // Group whose packages it can import as well. Empty: none.
  std::string packages_group;
};

// NotFound says how to make the environment that is missing.
absl::StatusOr<WorkerCommand> PythonWorker(const WorkerPlaces& places,
                                           const PythonServer& server);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_WORKER_COMMAND_H_
