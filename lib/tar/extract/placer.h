// Puts entries into the destination: folders and links itself, files by saying
// where they go.
#ifndef FEEDRATE_LIB_TAR_EXTRACT_PLACER_H_
#define FEEDRATE_LIB_TAR_EXTRACT_PLACER_H_

#include <cstdint>
#include <string>

#include "lib/tar/entry.h"
#include "lib/tar/extract/dispatcher.h"
#include "lib/tar/extract/file_writer.h"
#include "lib/tar/extract/folder_cache.h"
#include "lib/tar/extract/safe_name.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// What was found, whether written now or by an earlier run.
struct Counts {
  uint64_t files = 0;
  uint64_t bytes = 0;  // Of data in files.
  uint64_t folders = 0;
  uint64_t symlinks = 0;
  uint64_t hard_links = 0;
  uint64_t skipped[kSkipKinds] = {};
  uint64_t xattr_headers = 0;
};

class Placer {
 public:
  // Does not own `root_fd`. `max_bytes` bounds the data of all entries.
  Placer(int root_fd, int strip, uint64_t max_bytes, Dispatcher* dispatcher);

  // Checks and counts the entry. With `write`, makes it if it is a folder or a
  // link; if it is a file, sets `*is_target` and fills in `target`, and the
  // caller writes it. Names the entry when it refuses.
  Status Place(const Entry& entry, bool write, FileTarget* target,
               bool* is_target);

  Counts* counts() { return &counts_; }

 private:
  Status Count(const Entry& entry);
  Status Make(const Entry& entry, const std::string& path,
              const std::string& link, FileTarget* target, bool* is_target);
  Status PlaceFile(const Entry& entry, const std::string& path,
                   FileTarget* target);
  Status PlaceSymlink(const Entry& entry, const std::string& path);
  Status PlaceHardLink(const std::string& path, const std::string& link);
  Status Parent(const std::string& path, FolderRef* folder, size_t* leaf);

  const int strip_;
  const uint64_t max_bytes_;
  Dispatcher* const dispatcher_;
  FolderCache folders_;
  Counts counts_;
};

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_EXTRACT_PLACER_H_
