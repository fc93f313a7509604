// Sizes as the kernel writes them.
#ifndef FEEDRATE_LIB_MACHINE_SIZES_H_
#define FEEDRATE_LIB_MACHINE_SIZES_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Bytes of `48K`, `105M`, `263842304 kB` or `4096`; units are powers of 1024.
// Nothing when it is no such size, is negative, or does not fit.
std::optional<int64_t> ParseSize(absl::string_view text);

// The same for what somebody typed. InvalidArgument names `flag`, such as
// "--memory_limit", when it is no size or below `least`.
absl::StatusOr<int64_t> SizeOfFlag(absl::string_view flag,
                                   absl::string_view text, int64_t least);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_SIZES_H_
