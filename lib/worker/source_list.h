// The list of files that a loader or a decoder reads, as a memory file of JSON
// lines: {"path":"/data/a.jpg","bytes":4711}, of a video with "frames":[0,11],
// of a part of an object in a store with "offset":512 and what else is known.
#ifndef FEEDRATE_LIB_WORKER_SOURCE_LIST_H_
#define FEEDRATE_LIB_WORKER_SOURCE_LIST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// Where in an object an item lies, and how to know that it is the same.
struct ObjectPart {
  int64_t offset = 0;
  std::string version;             // Of the object; empty: not known.
  std::string checksum;            // Of the whole object; empty: not known.
  std::string member;              // Of a shard: what the item is called there.
  std::optional<uint32_t> crc32c;  // Of the item.
};

struct SourceFile {
  std::string path;  // Absolute; of an object its name.
  int64_t bytes = 0;
  // Of a video: numbers of its clip's frames, in display order from 0.
  std::vector<int64_t> frames = {};
  // Of an object.
  std::optional<ObjectPart> part = std::nullopt;
};

// A memory file with the list, sealed. To hand to a worker.
absl::StatusOr<UniqueFd> WriteSourceList(const std::vector<SourceFile>& files);

// Reads the whole list, wherever `fd` stands. InvalidArgument names a line that
// is none, and a list without files.
absl::StatusOr<std::vector<SourceFile>> ReadSourceList(int fd);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_WORKER_SOURCE_LIST_H_
