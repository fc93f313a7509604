// Lines from a pipe or socket, with the file descriptors that come along.
#ifndef FEEDRATE_LIB_ADAPTERS_WORKER_LINE_READER_H_
#define FEEDRATE_LIB_ADAPTERS_WORKER_LINE_READER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Reads lines of at most kMaxLine bytes. Does not own `fd`. Not thread-safe.
class LineReader {
 public:
  // A command is some hundred bytes; a megabyte without a newline is garbage.
  static constexpr size_t kMaxLine = 1 << 20;

  explicit LineReader(int fd) : fd_(fd) {}
  // Closes what was received and not taken.
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
  size_t searched_ = 0;  // of buffer_, without finding a newline
  std::vector<int> fds_;
};

// Writes all of `text`. Unavailable when the other end is gone.
absl::Status WriteLine(int fd, absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_ADAPTERS_WORKER_LINE_READER_H_
