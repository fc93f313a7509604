// A folder as a source.
#ifndef FEEDRATE_LIB_TAR_STAGE_TREE_H_
#define FEEDRATE_LIB_TAR_STAGE_TREE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "lib/tar/entry.h"
#include "lib/tar/extract/folder_cache.h"
#include "lib/tar/extract/unpack.h"
#include "lib/tar/number.h"
#include "lib/tar/status.h"

namespace feedrate::tar {

// What tells one state of a folder from another.
struct TreeSummary {
  uint64_t count = 0;  // Everything below the folder.
  uint64_t bytes = 0;  // Of data in files.
  Time newest;
};

// Called for each thing below the folder, with the folder that holds it and its
// name there. Parents come before what is in them.
using TreeVisitor = std::function<Status(
    const Entry& entry, const FolderRef& folder, const std::string& leaf)>;

// Walks the tree below `root_fd` in the order of the names, so that two walks
// of an unchanged tree meet the same things. Links are not followed. Devices,
// pipes and sockets are failures. `name` is for messages.
Status WalkTree(int root_fd, const std::string& name,
                const TreeVisitor& visitor);

Status SummarizeTree(int root_fd, const std::string& name,
                     TreeSummary* summary);

// Copies the tree into `dest_fd` by the rules for archives. Offsets, in the
// options too, are numbers of entries.
Status CopyTree(int root_fd, const std::string& name, int dest_fd,
                const UnpackOptions& options, UnpackResult* result);

}  // namespace feedrate::tar

#endif  // FEEDRATE_LIB_TAR_STAGE_TREE_H_
