// The list of files that a loader or a decoder reads, as a memory file of JSON
// lines: {"path":"/data/a.jpg","bytes":4711}, with "frames":[0,11] for a video,
// with "offset":512 and more for part of an object in a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/base/unique_fd.h"

namespace feedrate {

// The position of an item in an object, and how to verify that it has not
// changed.
struct ObjectPart {
  int64_t offset = 0;
  std::string version;             // The object's; empty if unknown.
  std::string checksum;            // The whole object's; empty if unknown.
  std::string member;              // In a shard: the item's name.
  std::optional<uint32_t> crc32c;  // The item's.
};

struct SourceFile {
  std::string path;  // Absolute path, or the name of an object.
  int64_t bytes = 0;
  // For a video: frame numbers of its clip, in display order from 0.
  std::vector<int64_t> frames = {};
  // Present for an object.
  std::optional<ObjectPart> part = std::nullopt;
};

// Writes the list to a sealed memory file, to pass to a worker.
absl::StatusOr<UniqueFd> WriteSourceList(const std::vector<SourceFile>& files);

// Reads the whole list, whatever the current offset of `fd`. InvalidArgument if
// a line is malformed (it is named) or the list is empty.
absl::StatusOr<std::vector<SourceFile>> ReadSourceList(int fd);

}  // namespace feedrate
