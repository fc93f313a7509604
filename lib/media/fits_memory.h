// Whether decoded inputs fit into memory, asked before any is decoded.
#ifndef FEEDRATE_LIB_MEDIA_FITS_MEMORY_H_
#define FEEDRATE_LIB_MEDIA_FITS_MEMORY_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace feedrate {

// Left over for everything else: workers, encoded files, page tables.
inline constexpr int64_t kSpareMemory = int64_t{64} << 20;

// Memory that may be taken, by what the kernel says; as good as endless where
// it says nothing.
int64_t MemoryToUse();

// ResourceExhausted when items of these sizes do not fit into `available` bytes
// less the spare. The message begins with `what` and names the largest
// num_items that fits.
absl::Status CheckFitsMemory(absl::string_view what,
                             const std::vector<int64_t>& item_bytes,
                             int64_t available);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MEDIA_FITS_MEMORY_H_
