// Lines out of a descriptor that others write to when they like.
#ifndef FEEDRATE_LIB_WORKER_LINE_INBOX_H_
#define FEEDRATE_LIB_WORKER_LINE_INBOX_H_

#include <string>

#include "absl/types/optional.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// Owns a descriptor, which it makes non-blocking. Not thread-safe.
class LineInbox {
 public:
  explicit LineInbox(UniqueFd fd);

  // For poll. -1 once closed.
  int fd() const { return fd_.get(); }
  // Takes in what is there, at most some megabytes, without waiting.
  void Fill();
  // True once the other side has closed and all was taken in.
  bool closed() const { return !fd_.valid(); }
  // The next whole line, without its newline.
  absl::optional<std::string> TakeLine();
  // Bytes that are there and no whole line yet.
  size_t unfinished() const { return buffer_.size(); }
  // What came after the last newline.
  const std::string& rest() const { return buffer_; }
  // Drops it.
  void Forget() {
    buffer_.clear();
    searched_ = 0;
  }

 private:
  UniqueFd fd_;
  std::string buffer_;
  // Up to here there is no newline.
  size_t searched_ = 0;
};

// Makes `fd` non-blocking.
void SetNonBlocking(int fd);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_LINE_INBOX_H_
