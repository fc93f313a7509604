// Images per second of each kernel, compared with the limit of a copy.
#pragma once

#include <string>

namespace feedrate::fused {

// Prints a table. `limit` is CopyBytesPerSecond divided by the bytes that must
// move, each read once and written once. Only measurements with `filter` in
// their name.
void RunTimings(int batch, int samples, const std::string& filter = "");

}  // namespace feedrate::fused
