// The worker processes of a run: which program serves a library, where it is,
// and the pool of running ones.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/worker/message.h"
#include "lib/worker/server.h"

namespace feedrate {

class Catalogue;
class Job;
class Progress;
class ThreadPolicy;

// Where programs and environments are looked for.
struct WorkerPlaces {
  // Folders that hold `worker_NAME` or PACKAGE/worker_NAME, and
  // lib/adapters/python or python/server.py, in search order.
  std::vector<std::string> folders;
  // Folder of the Python environments; an error where there can be none.
  absl::StatusOr<std::string> environments;
  // Folder that holds requirements/SET/GROUP.lock.
  std::string configs;
  // Interpreter of subjects. Empty means the python3 in PATH.
  std::string python;
  // Put before the commands of subjects.
  std::vector<std::string> subject_prefix;
};

// WorkerFolders(); environments are in the user's cache folder.
WorkerPlaces PlacesOfThisProgram(const std::string& configs);

// How to start a server.
struct WorkerCommand {
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
};

// A program of ours, and how to build it.
struct WorkerProgram {
  std::string name;
  // Bazel package that builds it.
  std::string package;
  // Bazel config, and a command to run before. Empty means none.
  std::string build_config = "";
  std::string build_first = "";
};

// The C++ worker of `library`.
WorkerProgram NativeWorker(const Catalogue& catalogue,
                           const std::string& library);

// Path of the program. NotFound says what to build.
absl::StatusOr<std::string> FindProgram(const WorkerPlaces& places,
                                        const WorkerProgram& program);

// A Python server.
struct PythonServer {
  std::string env_set;
  std::string env_group;
  // All are in `env_group`.
  std::vector<std::string> libraries;
  // Whether it serves loaders.
  bool loader = false;
  // Group whose packages it can also import. Empty means none.
  std::string packages_group;
};

// NotFound says how to create the missing environment.
absl::StatusOr<WorkerCommand> PythonWorker(const WorkerPlaces& places,
                                           const PythonServer& server);

// NotFound when there is no such interpreter.
absl::StatusOr<WorkerCommand> SubjectWorker(const WorkerPlaces& places,
                                            const std::string& subject,
                                            bool loader);

// The processes that have loaded the libraries of a run: one server per
// environment group and thread policy, or per C++ library and thread policy.
// Not thread-safe; one thread, which outlives the pool, makes all calls.
class ServerPool {
 public:
  // `catalogue` outlives this.
  ServerPool(const Catalogue& catalogue, WorkerPlaces places, int interrupt_fd);

  // Registers the job's library, before Start. NotFound, with the command to
  // run, when its program or environment is missing.
  absl::Status Add(const Job& job);
  // Starts all servers without waiting for them.
  absl::Status Start();
  // The job's server, ready to fork. Restarts a server that died. Unavailable
  // or Unknown when its library does not load.
  absl::StatusOr<LibraryServer*> Get(const Job& job);
  // Version of the job's library. Empty before Get succeeded.
  std::string VersionOf(const Job& job) const;
  // Versions of all libraries whose servers are ready.
  std::map<std::string, std::string> Versions() const;

 private:
  // Environment set, environment group or library, thread policy, and whether
  // it serves loaders.
  using Key = std::tuple<std::string, std::string, std::string, bool>;
  struct Entry {
    std::vector<std::string> libraries;
    bool is_python = false;
    ServerOptions options;
    std::unique_ptr<LibraryServer> server;
    Hello hello;
  };

  static Key KeyOf(const Job& job);
  absl::Status SetCommand(const Key& key, Entry* entry) const;
  const ThreadPolicy* FindThreads(const std::string& name) const;

  const Catalogue& catalogue_;
  const WorkerPlaces places_;
  const int interrupt_fd_;
  std::map<Key, Entry> entries_;
  // Servers that died; their children may still refer to them.
  std::vector<std::unique_ptr<LibraryServer>> retired_;
};

using Warn = std::function<void(const std::string&)>;

// Adds the jobs' libraries to `servers`. NotFound, with the command to run,
// when a program or environment is missing; with `skip_missing`, removes its
// jobs from `jobs` and calls `warn` instead.
absl::Status AddLibraries(bool skip_missing, const Warn& warn,
                          ServerPool* servers, std::vector<Job>* jobs);

// Waits until all libraries have loaded. A library that does not load loses
// only its own rows; `warn` gets the reason once. Fails only when interrupted.
absl::Status WaitForLibraries(const std::vector<Job>& jobs, const Warn& warn,
                              Progress* progress, ServerPool* servers);

}  // namespace feedrate
