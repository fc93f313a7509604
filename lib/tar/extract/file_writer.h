// Makes one file and fills it.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_FILE_WRITER_H_
#define FEEDRATE_LIB_TAR_EXTRACT_FILE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/tar/extract/block_pool.h"
#include "lib/tar/extract/folder_cache.h"
#include "lib/tar/number.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// Where a file goes and what it is to look like.
struct FileTarget {
  FolderRef folder;
  std::string path;      // Beneath DIR, for messages.
  size_t leaf = 0;       // Where in `path` the name within `folder` begins.
  uint32_t mode = 0644;  // Less the umask; setuid and its like are taken off.
  Time mtime;
  uint64_t size = 0;

  const char* leaf_name() const { return path.c_str() + leaf; }
};

// Bytes in a block that lives as long as this does.
struct Piece {
  BlockRef block;
  const char* data = nullptr;
  size_t size = 0;
};

// Removes what is at `leaf` unless it is a folder. True when nothing is there
// any more; else errno says why not.
bool RemoveLeaf(int folder_fd, const char* leaf);

// Makes the file anew: an old one of that name is removed, never opened, so
// that nothing is written through a link, hard or symbolic.
Status CreateFile(const FileTarget& target, int* fd);

// Writes the pieces one after another from `offset` on.
Status WritePieces(const FileTarget& target, int fd, uint64_t offset,
                   const std::vector<Piece>& pieces);

// Writes target.size bytes from `source_fd`, from `source_offset` on, by way of
// `buffer`. `source_name` is for messages.
Status CopyRange(const FileTarget& target, int fd, int source_fd,
                 uint64_t source_offset, const std::string& source_name,
                 char* buffer, size_t buffer_size);

// Sets the time and closes; some file systems tell only then what went wrong.
Status FinishFile(const FileTarget& target, int fd);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_FILE_WRITER_H_
