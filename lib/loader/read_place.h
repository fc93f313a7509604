// Reads the bytes of an item, wherever they lie.
#ifndef FEEDRATE_LIB_LOADER_READ_PLACE_H_
#define FEEDRATE_LIB_LOADER_READ_PLACE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/loader/read_buffer.h"
#include "lib/loader/source.h"

namespace feedrate {

// By pread into `buffer`. DataLoss when the file is shorter than `place` says.
absl::StatusOr<absl::string_view> ReadPlace(const ItemPlace& place,
                                            ReadBuffer* buffer);

// By mmap. REQUIRES: a path and offset 0.
absl::StatusOr<absl::string_view> MapPlace(const ItemPlace& place,
                                           ReadBuffer* buffer);

// Cannot `what`: why.
absl::Status FileError(absl::string_view what, int error);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_READ_PLACE_H_
