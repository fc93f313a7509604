// The server process, which has loaded a library and forks a child for each
// job.
#pragma once

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
#include "lib/worker/message.h"
#include "lib/worker/process.h"

namespace feedrate {

struct ServerOptions {
  // The name in messages, such as `opencv`.
  std::string name;
  // The full path of the program, and its arguments.
  std::vector<std::string> argv;
  // Environment variables that are added to, or replace, those of this process.
  std::map<std::string, std::string> environment;
  // Becomes readable when the run should end. -1 means never.
  int interrupt_fd = -1;
};

// The pipes to a child.
struct ChildPipes {
  int64_t pid = 0;
  UniqueFd commands;  // To write to.
  UniqueFd replies;
  UniqueFd stderr_end;
};

// Controls a server process. Not thread-safe. Start it from a thread that lives
// as long as the server: the kernel kills the server and its children when that
// thread ends.
//
// Errors: Unavailable if the server cannot be started, is gone or does not
// answer; Cancelled if interrupted; Unknown with the library's own text.
class LibraryServer {
 public:
  // Starts the server without waiting, so that several can load at once.
  static absl::StatusOr<std::unique_ptr<LibraryServer>> Start(
      const ServerOptions& options);
  // Kills the server.
  ~LibraryServer();
  LibraryServer(const LibraryServer&) = delete;
  LibraryServer& operator=(const LibraryServer&) = delete;

  // Waits until the library is loaded. Returns at once if it is.
  absl::StatusOr<Hello> WaitReady(absl::Duration limit);
  // Forks a child and passes it `corpus_fd`. REQUIRES: WaitReady returned OK.
  absl::StatusOr<ChildPipes> Spawn(const std::string& library, int corpus_fd);
  // Waits for a child that has ended or was killed, and returns its exit
  // status.
  absl::StatusOr<ChildInfo> Reap(int64_t pid);

  const std::string& name() const { return options_.name; }
  int interrupt_fd() const { return options_.interrupt_fd; }
  pid_t pid() const { return pid_; }
  // How many children it has that were not reaped.
  size_t children() const { return children_; }

 private:
  LibraryServer(const ServerOptions& options, pid_t pid, UniqueFd control,
                UniqueFd stderr_end);
  absl::StatusOr<std::string> ReadLine(absl::Duration limit);
  absl::Status Gone();

  const ServerOptions options_;
  pid_t pid_;
  size_t children_ = 0;
  LineInbox control_;
  LastWords last_words_;
  absl::StatusOr<Hello> hello_;
};

}  // namespace feedrate
