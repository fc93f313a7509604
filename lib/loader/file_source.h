// Files, one an item: images or arrays of numpy.
#ifndef FEEDRATE_LIB_LOADER_FILE_SOURCE_H_
#define FEEDRATE_LIB_LOADER_FILE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/source.h"

namespace feedrate {

struct ListedFile {
  std::string path;
  int64_t bytes = -1;  // Negative: to be looked up.
};

// How bytes get from the file to the decoder.
enum class FileAccess { kRead, kMap };

// The files in this order. A file that cannot be looked up is an item all the
// same: reading it is the error.
std::unique_ptr<Source> ListSource(std::vector<ListedFile> files,
                                   FileAccess access = FileAccess::kRead);

// Files whose names end like those of images or arrays (.jpg .jpeg .png .npy,
// in any case), in `folder` and below, by sorted path. NotFound when there is
// no such folder.
absl::StatusOr<std::unique_ptr<Source>> FolderSource(
    const std::string& folder, FileAccess access = FileAccess::kRead);

// Whether the name ends like that of an item.
bool IsItemName(absl::string_view name);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_FILE_SOURCE_H_
