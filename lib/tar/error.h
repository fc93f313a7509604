// Why an archive was refused.
#ifndef FEEDRATE_LIB_TAR_ERROR_H_
#define FEEDRATE_LIB_TAR_ERROR_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace feedrate::tar {

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
  uint64_t offset = 0;  // Of the header or byte in question.
  std::string entry;    // The entry it happened in, or the last one before it;
  bool after = false;   // which of the two. Empty when there is none.
  std::string detail;   // What exactly, where the code leaves that open.
};

// One line for people: what is wrong, in which entry, at which byte.
std::string Describe(const Error& error);

// A name fit for a terminal and a log: quoted, control characters and broken
// ends escaped, a long one cut in the middle.
std::string Quote(std::string_view name);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_ERROR_H_
