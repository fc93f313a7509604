// One measured process: a library, a transform, a corpus.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "lib/base/unique_fd.h"
#include "lib/records/distrust_worker.pb.h"
#include "lib/worker/memory_guard.h"
#include "lib/worker/message.h"
#include "lib/worker/process.h"
#include "lib/worker/server.h"

namespace feedrate {

// An output of the transform, copied from the child.
struct ChildOutput {
  OutputItem info;
  std::string bytes;
};

// Memory files that a child shares with this process. Nobody can change their
// sizes.
struct SharedFiles {
  UniqueFd input;
  UniqueFd output;
};

// Controls one measured process. Not thread-safe. Whatever the measured code
// does ends in a status:
//   Unknown            the library says that it cannot; the child lives
//   DataLoss           garbage, or a closed pipe, instead of an answer
//   Aborted            it died; the message has the signal and its last words
//   DeadlineExceeded   no answer in time
//   ResourceExhausted  it took more memory than it may, or there was none left
//   Cancelled          the run is to end
//   Unavailable        its server is gone
// After all but the first the child is dead and reaped, and every further
// command returns the same status.
class MeasuredChild {
 public:
  // Forks a child. `server` must outlive it. A limit of 0 bytes means no limit.
  static absl::StatusOr<std::unique_ptr<MeasuredChild>> Spawn(
      LibraryServer* server, const std::string& library, int corpus_fd,
      int64_t memory_limit_bytes);
  // Kills and reaps the child if it is alive.
  ~MeasuredChild();
  MeasuredChild(const MeasuredChild&) = delete;
  MeasuredChild& operator=(const MeasuredChild&) = delete;

  absl::StatusOr<PrepareReply> Prepare(const PrepareCommand& command,
                                       absl::Duration limit);
  absl::StatusOr<TimeReply> Time(const TimeCommand& command,
                                 absl::Duration limit);
  // `batch_size` is what the loader was prepared with, `datasets` the number of
  // data sets in a mixture.
  absl::StatusOr<EpochReply> Epoch(const EpochCommand& command,
                                   int64_t batch_size, absl::Duration limit,
                                   int64_t datasets = 0);
  // Stops what the last epoch of a mixture left running.
  absl::StatusOr<StopReply> Stop(absl::Duration limit);
  absl::StatusOr<std::vector<ChildOutput>> Outputs(const OutputCommand& command,
                                                   absl::Duration limit);

  // The next three are for calls that are timed from outside. Makes the files
  // of inputs and outputs, which have exactly these sizes from then on.
  absl::StatusOr<SharedFiles> Attach(const AttachCommand& command,
                                     absl::Duration limit);
  absl::Status Seed(const SeedCommand& command, absl::Duration limit);
  // Returns as soon as the answer is there. DataLoss unless it is the answer to
  // this command and describes an output of at most `max_bytes`.
  absl::StatusOr<OutputItem> Call(const CallCommand& command, int64_t max_bytes,
                                  absl::Duration limit);

  int64_t pid() const { return pid_; }
  // Has forked the child.
  const LibraryServer& server() const { return *server_; }
  int64_t server_pid() const { return server_->pid(); }
  bool alive() const { return end_.ok(); }

 private:
  MeasuredChild(LibraryServer* server, ChildPipes pipes,
                int64_t memory_limit_bytes);
  absl::StatusOr<std::string> Exchange(const std::string& line,
                                       absl::Duration limit,
                                       size_t max_reply_bytes);
  absl::StatusOr<std::string> Wait(absl::Duration limit,
                                   size_t max_reply_bytes);
  bool Send(const std::string& line);
  // Kills and reaps the child; stores and returns how it ended. `why` is the
  // observed cause; OK means that only its end was observed and the exit status
  // tells the cause.
  absl::Status Bury(absl::Status why);
  // The same for a child that has closed its pipe.
  absl::Status BuryClosed();
  absl::Status EndOf(const absl::StatusOr<ChildInfo>& child);
  template <typename Reply>
  absl::StatusOr<Reply> Judge(absl::StatusOr<Reply> reply);

  LibraryServer* const server_;
  const int64_t pid_;
  UniqueFd commands_;
  LineInbox replies_;
  LastWords last_words_;
  // Readable when the process has ended. -1 if this kernel does not support it.
  UniqueFd pid_fd_;
  const int64_t memory_limit_bytes_;
  std::unique_ptr<MemoryGuard> guard_;
  // The kernel's count of out-of-memory kills at the start.
  const int64_t kernel_kills_;
  absl::Status end_;
};

}  // namespace feedrate
