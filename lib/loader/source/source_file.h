// A file that a loader or a decoder reads, or a part of an object in a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace feedrate
