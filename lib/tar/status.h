// How an operation went: well, or with one line for people and an exit code.
//
// lib/tar depends on nothing, so it cannot use absl::Status.
#ifndef FEEDRATE_LIB_TAR_STATUS_H_
#define FEEDRATE_LIB_TAR_STATUS_H_

#include <string>
#include <string_view>
#include <utility>

namespace feedrate::tar {

class [[nodiscard]] Status {
 public:
  // Exit codes of every program of this repository.
  static constexpr int kCallersMistake = 1;
  static constexpr int kRunFailed = 2;

  Status() = default;  // All is well.
  Status(int exit_code, std::string message)
      : exit_code_(exit_code), message_(std::move(message)) {}

  bool ok() const { return exit_code_ == 0; }
  int exit_code() const { return exit_code_; }
  const std::string& message() const { return message_; }

 private:
  int exit_code_ = 0;
  std::string message_;
};

// The caller asked for something that cannot be.
Status CallersMistake(std::string message);

// The run failed.
Status Failed(std::string message);

// The run failed in a system call: "doing: path: reason". `error` is an errno.
Status SystemFailure(std::string_view doing, std::string_view path, int error);

}  // namespace feedrate::tar

// Passes a failure up.
#define TAR_RETURN_IF_ERROR(expression)                                  \
  do {                                                                   \
    if (::feedrate::tar::Status status_ = (expression); !status_.ok()) { \
      return status_;                                                    \
    }                                                                    \
  } while (false)

#endif  // FEEDRATE_LIB_TAR_STATUS_H_
