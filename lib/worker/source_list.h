// The list of files that a loader or a decoder reads, as a memory file of JSON
// lines: {"path":"/data/a.jpg","bytes":4711}, of a video with "frames":[0,11].
#ifndef FEEDRATE_LIB_WORKER_SOURCE_LIST_H_
#define FEEDRATE_LIB_WORKER_SOURCE_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

struct SourceFile {
  std::string path;  // Absolute.
  int64_t bytes = 0;
  // Of a video: numbers of its clip's frames, in display order from 0.
  std::vector<int64_t> frames;
};

// A memory file with the list, sealed. To hand to a worker.
absl::StatusOr<UniqueFd> WriteSourceList(const std::vector<SourceFile>& files);

// Reads the whole list, wherever `fd` stands. InvalidArgument names a line that
// is none, and a list without files.
absl::StatusOr<std::vector<SourceFile>> ReadSourceList(int fd);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_SOURCE_LIST_H_
