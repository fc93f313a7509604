// Errors: why an archive was refused, and the status of an operation.
//
// lib/tar depends on nothing, so it cannot use absl::Status.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace feedrate::tar {

// Why an archive was refused.
struct Error {
  enum class Code {
    kNone,
    kBadChecksum,
    kBadNumber,
    kBadSize,
    kBadName,
    kBadPax,
    kTooLong,
    kSparse,
    kDevice,
    kUnknownType,
    kLoneZeroBlock,
    kTruncated,
  };

  Code code = Code::kNone;
  uint64_t offset = 0;  // Where the offending header or byte is.
  std::string entry;    // The entry in which it happened, or, when `after` is
  bool after =
      false;  // true, the last entry before it. Empty if there is none.
  std::string detail;  // Details that the code does not tell.
};

// One line for people: what is wrong, in which entry, at which byte.
std::string Describe(const Error& error);

// A name made safe for terminals and logs: quoted, with control characters and
// broken UTF-8 at the ends escaped. Long names are shortened in the middle.
std::string Quote(std::string_view name);

// The result of an operation: success, or a one-line message and an exit code.
class [[nodiscard]] Status {
 public:
  // The same exit codes as in every program of this repository.
  static constexpr int kCallersMistake = 1;
  static constexpr int kRunFailed = 2;

  Status() = default;  // Success.
  Status(int exit_code, std::string message)
      : exit_code_(exit_code), message_(std::move(message)) {}

  bool ok() const { return exit_code_ == 0; }
  int exit_code() const { return exit_code_; }
  const std::string& message() const { return message_; }

 private:
  int exit_code_ = 0;
  std::string message_;
};

// The caller asked for something impossible.
Status CallersMistake(std::string message);

// The run failed.
Status Failed(std::string message);

// The run failed in a system call: "doing: path: reason". `error` is an errno.
Status SystemFailure(std::string_view doing, std::string_view path, int error);

}  // namespace feedrate::tar

// Returns from the calling function if `expression` fails.
#define TAR_RETURN_IF_ERROR(expression)                                  \
  do {                                                                   \
    if (::feedrate::tar::Status status_ = (expression); !status_.ok()) { \
      return status_;                                                    \
    }                                                                    \
  } while (false)
