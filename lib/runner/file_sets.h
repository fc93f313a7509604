// The files that loaders read.
#ifndef FEEDRATE_LIB_RUNNER_FILE_SETS_H_
#define FEEDRATE_LIB_RUNNER_FILE_SETS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/worker/source_list.h"

namespace feedrate {

// Files in the order of the items.
struct FileSet {
  std::vector<SourceFile> files;
  // `files`, or `shards` when they are tar files.
  std::string source = "files";
  // In all files together.
  int64_t items = 0;
};

using FileProgress = std::function<void(int64_t done, int64_t total)>;

// The files of `folder` and below with one of `endings` (no dot, any case), by
// sorted path, `num_items` of them (0: all). A folder that has none of these
// but tar files gives those. InvalidArgument when there are fewer.
absl::StatusOr<FileSet> ListFolder(const std::string& folder,
                                   const std::vector<std::string>& endings,
                                   int64_t num_items);

// The files of `synthetic:…`, written below `cache` where they are missing.
absl::StatusOr<FileSet> WriteSynthetic(const std::string& dataset,
                                       int64_t num_items,
                                       const std::string& cache,
                                       const FileProgress& progress);

// The same items in tar files below `cache`, written where they are missing.
absl::StatusOr<FileSet> WriteShards(const FileSet& set,
                                    const std::string& cache,
                                    const FileProgress& progress);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_RUNNER_FILE_SETS_H_
