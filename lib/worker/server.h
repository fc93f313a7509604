// The process that has loaded a library and forks a child for each job.
#ifndef FEEDRATE_LIB_WORKER_SERVER_H_
#define FEEDRATE_LIB_WORKER_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/base/unique_fd.h"
#include "lib/worker/last_words.h"
#include "lib/worker/line_inbox.h"
#include "lib/worker/message.h"

namespace feedrate {

struct ServerOptions {
  // For messages, such as `opencv`.
  std::string name;
  // The program, by its full path, and its arguments.
  std::vector<std::string> argv;
  // Set in its environment besides, or instead of, what this process has.
  std::map<std::string, std::string> environment;
  // Readable once the run is to end. -1: never.
  int interrupt_fd = -1;
};

// What a child is reached by.
struct ChildPipes {
  int64_t pid = 0;
  UniqueFd commands;  // To write to.
  UniqueFd replies;
  UniqueFd stderr_end;
};

// Not thread-safe. To be started by a thread that lives as long as it: the
// kernel kills it when that thread ends, and with it its children.
//
// Errors: Unavailable when the server cannot be started, is gone or does not
// answer; Cancelled when interrupted; Unknown with the library's own text.
class LibraryServer {
 public:
  // Starts it and does not wait, so that several can load at once.
  static absl::StatusOr<std::unique_ptr<LibraryServer>> Start(
      const ServerOptions& options);
  // Kills it.
  ~LibraryServer();
  LibraryServer(const LibraryServer&) = delete;
  LibraryServer& operator=(const LibraryServer&) = delete;

  // Waits until the library is loaded. Answers at once when it is.
  absl::StatusOr<Hello> WaitReady(absl::Duration limit);
  // Forks a child that gets `corpus_fd`. REQUIRES: WaitReady was OK.
  absl::StatusOr<ChildPipes> Spawn(const std::string& library, int corpus_fd);
  // Waits for a child that has ended or was killed.
  absl::StatusOr<ChildInfo> Reap(int64_t pid);

  const std::string& name() const { return options_.name; }
  int interrupt_fd() const { return options_.interrupt_fd; }
  pid_t pid() const { return pid_; }

 private:
  LibraryServer(const ServerOptions& options, pid_t pid, UniqueFd control,
                UniqueFd stderr_end);
  absl::StatusOr<std::string> ReadLine(absl::Duration limit);
  absl::Status Gone();

  const ServerOptions options_;
  pid_t pid_;
  LineInbox control_;
  LastWords last_words_;
  absl::StatusOr<Hello> hello_;
};

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_SERVER_H_
