// The processes that have loaded the libraries of a run.
#ifndef FEEDRATE_LIB_RUNNER_SERVER_POOL_H_
#define FEEDRATE_LIB_RUNNER_SERVER_POOL_H_

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/catalogue/catalogue.h"
#include "lib/records/records.pb.h"
#include "lib/runner/worker_command.h"
#include "lib/worker/message.h"
#include "lib/worker/server.h"

namespace feedrate {

// One server for each (environment group, thread policy), or for each C++
// library of a thread policy. Not thread-safe; all calls from one thread, which
// outlives it.
class ServerPool {
 public:
  // `catalogue` outlives this.
  ServerPool(const Catalogue& catalogue, WorkerPlaces places, int interrupt_fd);

  // Says that the job's library will be needed. NotFound, with what to run,
  // when its program or environment is not there. Before Start.
  absl::Status Add(const Job& job);
  // Starts all and does not wait for them.
  absl::Status Start();
  // The job's server, ready to fork. One that died is started again.
  // Unavailable or Unknown when its library does not load.
  absl::StatusOr<LibraryServer*> Get(const Job& job);
  // Version of the job's library. Empty before Get succeeded.
  std::string VersionOf(const Job& job) const;
  // Of all libraries whose servers are ready.
  std::map<std::string, std::string> Versions() const;
  // Those that were added, in words.
  std::vector<std::string> names() const;

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
  // Servers that died, as long as their children are spoken of.
  std::vector<std::unique_ptr<LibraryServer>> retired_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_SERVER_POOL_H_
