// A file that appears under its name only when it is whole.
#ifndef FEEDRATE_LIB_BASE_NEW_FILE_H_
#define FEEDRATE_LIB_BASE_NEW_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// For output too large to hold in memory. What is written goes to a temporary
// name beside the target; Commit makes it the target in one step. Without
// Commit nothing stays behind and an older file is as it was.
//
// A target that is there and no plain file, such as /dev/null or a named pipe,
// is never replaced: what is written goes straight to it.
class NewFile {
 public:
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(
      const std::string& path);
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile();

  // To write to. Owned by this.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

  // To be called once, after the last write.
  absl::Status Commit();

 private:
  NewFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  const std::string path_;
  // Empty: writes go straight to the target.
  const std::string temporary_;
  const int fd_;
  bool committed_ = false;
};

// Replaces `path` by `content` in one step: a reader sees the old file or the
// new one, and after a crash one of them is there whole.
absl::Status WriteFileAtomically(const std::string& path,
                                 absl::string_view content);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_BASE_NEW_FILE_H_
