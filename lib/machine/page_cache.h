// Whether the kernel has files in memory, and making it so or not.
#ifndef FEEDRATE_LIB_MACHINE_PAGE_CACHE_H_
#define FEEDRATE_LIB_MACHINE_PAGE_CACHE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace feedrate {

// Share of the files' pages that are in memory, 0 to 1, by mincore. Files
// without a byte count for nothing; 1 when there is nothing to read. Errors
// name the file.
absl::StatusOr<double> ResidentFraction(const std::vector<std::string>& files);

// Has the kernel forget the files' pages, after what was written is on disk
// (dirty pages stay). It may not do so for all: ask ResidentFraction. Pages of
// memory file systems stay.
absl::Status DropPages(const std::vector<std::string>& files);

// Reads the files once, so that their pages are there.
absl::Status ReadPages(const std::vector<std::string>& files);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MACHINE_PAGE_CACHE_H_
