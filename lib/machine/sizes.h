// Sizes as the kernel writes them.
#ifndef FEEDRATE_LIB_MACHINE_SIZES_H_
#define FEEDRATE_LIB_MACHINE_SIZES_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace feedrate {

// Bytes of `48K`, `105M`, `263842304 kB` or `4096`; units are powers of 1024.
// Nothing when it is no such size, is negative, or does not fit.
std::optional<int64_t> ParseSize(absl::string_view text);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_SIZES_H_
