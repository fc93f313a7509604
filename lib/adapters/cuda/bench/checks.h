// Compares every kernel with the host, on images of different and odd sizes.
#pragma once

namespace feedrate::fused {

// Prints one line per check, `ok` or `FAIL`, with the largest difference.
// Returns the number of failures.
int RunChecks(unsigned seed);

}  // namespace feedrate::fused
