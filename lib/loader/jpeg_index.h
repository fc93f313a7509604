// An index of JPEG files: places at which decoding can start, so that a crop
// reads only its own codes. See docs/jpeg_region.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace feedrate {

// One file, beside the data or elsewhere. Pictures are found by a checksum of
// their bytes: they may be renamed, moved into shards or replaced, and a
// picture that changed is one that the index does not have. Thread-safe.
class JpegIndex {
 public:
  // Reads `path`, if it is there. A file that is not an index, or that others
  // may write, is kept as it is, and is InvalidArgument; a damaged one counts
  // as empty, and `problem` says so. Fails if a missing file could not be made.
  static absl::StatusOr<std::unique_ptr<JpegIndex>> Open(
      const std::string& path);
  ~JpegIndex();
  JpegIndex(const JpegIndex&) = delete;
  JpegIndex& operator=(const JpegIndex&) = delete;

  // What names these bytes.
  struct Key {
    uint64_t checksum = 0;
    uint64_t bytes = 0;
    friend bool operator<(const Key& a, const Key& b) {
      return std::pair(a.checksum, a.bytes) < std::pair(b.checksum, b.bytes);
    }
  };
  static Key KeyOf(absl::string_view bytes);
  // What names a place where bytes are, before they are read: no bytes have
  // this key. An outline (jpeg_part.h) can be kept there like entries.
  static Key KeyOfPlace(absl::string_view place);

  // The packed entries of a picture, which are empty if it can only be decoded
  // from its beginning. Nothing if the index does not have the picture, or has
  // it damaged.
  absl::optional<std::string> Find(const Key& key) const;
  void Add(const Key& key, std::string entries);

  // Writes what was added, together with what other processes wrote since. Does
  // nothing if nothing was. Unavailable if another process holds the folder.
  absl::Status Save();

  // Empty, or why the file counts as empty.
  const std::string& problem() const { return problem_; }
  int64_t size() const;

 private:
  class File;
  explicit JpegIndex(std::string path);

  const std::string path_;
  std::string problem_;
  std::unique_ptr<File> file_;
  mutable std::mutex mutex_;
  std::map<Key, std::string> added_;
  bool is_saved_ = true;
};

}  // namespace feedrate
