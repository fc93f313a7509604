// The process that has loaded a library and forks one child per job, and main()
// of worker programs:
//
//   int main(int argc, char** argv) {
//     return feedrate::WorkerMain(argc, argv,
//                                 std::make_unique<feedrate::NullAdapter>());
//   }
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/adapters/worker/adapter.h"

namespace feedrate {

// The file descriptor on which a worker finds the runner.
inline constexpr int kControlFd = 3;

// Serves the runner on kControlFd. Returns 0 when the runner hung up. Returns 1
// after a message on standard error when there is no runner or it sends
// nonsense.
int WorkerMain(int argc, char** argv, std::unique_ptr<Adapter> adapter);

// Serves the runner at the other end of `control`, a Unix stream socket, until
// that end closes; then kills and reaps the remaining children. An error says
// what the runner did wrong; the children are gone then, too.
//
// Returns only in the server: children leave by _exit.
absl::Status Serve(int control, Adapter* adapter);

// Brings malloc into the state that a program reaches once it has run for a
// while. At first glibc gets every larger block from the kernel and gives it
// back at once, so that each call faults its output in anew. Freeing one such
// block raises the size limits for this, for good. Without this call, whether a
// transform is timed with page faults depends on what happened to run before.
void SettleHeap();

// Reads lines of at most kMaxLine bytes from a pipe or socket, and the file
// descriptors that come with them. Does not own `fd`. Not thread-safe.
class LineReader {
 public:
  // A command has some hundred bytes; a megabyte without a newline is garbage.
  static constexpr size_t kMaxLine = 1 << 20;

  explicit LineReader(int fd) : fd_(fd) {}
  // Closes file descriptors that were received and not taken.
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its newline. OutOfRange at the end of the stream,
  // InvalidArgument when it ends inside a line or the line is too long.
  absl::StatusOr<std::string> Next();

  // The file descriptors (SCM_RIGHTS) received since the last call, in order,
  // close-on-exec. The caller owns them.
  std::vector<int> TakeFds();

 private:
  // Reads some more. False at the end of the stream.
  absl::StatusOr<bool> Fill();

  int fd_;
  std::string buffer_;
  size_t searched_ = 0;  // Bytes of buffer_ known to hold no newline.
  std::vector<int> fds_;
};

// Writes all of `text`. Unavailable when the other end is gone.
absl::Status WriteLine(int fd, absl::string_view text);

}  // namespace feedrate
