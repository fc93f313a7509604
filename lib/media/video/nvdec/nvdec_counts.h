// What an engine has done so far.
#pragma once

#include <cstdint>

namespace feedrate {

struct NvdecCounts {
  // Decoders created, which is slow, and decoders changed to another size.
  int64_t created = 0;
  int64_t reconfigured = 0;
  // Pictures decoded, wanted or needed by others, and pictures left out.
  int64_t decoded = 0;
  int64_t skipped = 0;
};

}  // namespace feedrate
