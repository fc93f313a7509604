// One entry of an archive, as the archive tells it: nothing here is checked
// against a file system.
#ifndef FEEDRATE_LIB_TAR_ENTRY_H_
#define FEEDRATE_LIB_TAR_ENTRY_H_

#include <cstdint>
#include <string>

#include "lib/tar/error.h"
#include "lib/tar/extensions.h"
#include "lib/tar/header.h"
#include "lib/tar/number.h"

namespace feedrate::tar {

struct Entry {
  enum class Type { kFile, kFolder, kSymlink, kHardLink };

  Type type = Type::kFile;
  std::string path;   // May be absolute, hold "..", or end in a slash.
  std::string link;   // Of a link alone: where it points.
  uint64_t size = 0;  // Bytes of data; 0 unless a file.
  Time mtime;
  uint32_t mode = 0;    // All twelve bits, setuid and its like included.
  uint64_t offset = 0;  // Of its first header, extended headers counted in.
  uint64_t body_offset = 0;

  // Where the next entry's first header lies.
  uint64_t EndOffset() const { return body_offset + size + PaddingAfter(size); }
};

// Makes the entry of a header and what stood before it. Expects body_offset to
// be set and leaves `offset` alone. False with code and detail in `error`.
bool ParseEntry(const Header& header, const Extensions& extensions,
                Entry* entry, Error* error);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_ENTRY_H_
