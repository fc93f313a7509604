// The Content-Range header.
#ifndef FEEDRATE_LIB_STORAGE_REMOTE_CONTENT_RANGE_H_
#define FEEDRATE_LIB_STORAGE_REMOTE_CONTENT_RANGE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace feedrate {

struct ContentRange {
  int64_t first = -1;  // -1 with `last`: none, as in "bytes */100".
  int64_t last = -1;
  int64_t total = -1;  // -1: not said.
};

// "bytes 0-9/100"; nothing where it is no such text.
std::optional<ContentRange> ParseContentRange(absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_STORAGE_REMOTE_CONTENT_RANGE_H_
