// The list of files that a loader or a decoder reads, as a memory file of JSON
// lines: {"path":"/data/a.jpg","bytes":4711}, with "frames":[0,11] for a video,
// with "offset":512 and more for part of an object in a store.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"
#include "lib/loader/source/source_file.h"

namespace feedrate {

// Writes the list to a sealed memory file, to pass to a worker.
absl::StatusOr<UniqueFd> WriteSourceList(const std::vector<SourceFile>& files);

// Reads the whole list, whatever the current offset of `fd`. InvalidArgument if
// a line is malformed (it is named) or the list is empty.
absl::StatusOr<std::vector<SourceFile>> ReadSourceList(int fd);

}  // namespace feedrate
