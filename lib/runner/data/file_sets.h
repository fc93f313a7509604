// Lists or writes the files that loaders read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/runner/data/remote_data.h"

namespace feedrate {

// The files in `folder` and below with one of `endings` (no dot, any case), by
// sorted path, the first `num_items` (0 means all). If there are none but tar
// files, returns those. InvalidArgument when there are fewer.
absl::StatusOr<FileSet> ListFolder(const std::string& folder,
                                   const std::vector<std::string>& endings,
                                   int64_t num_items);

// The files of a `synthetic:…` data set. Writes missing ones below `cache`.
absl::StatusOr<FileSet> WriteSynthetic(const std::string& dataset,
                                       int64_t num_items,
                                       const std::string& cache,
                                       const FileProgress& progress);

// The same items in tar files below `cache`. Writes missing ones.
absl::StatusOr<FileSet> WriteShards(const FileSet& set,
                                    const std::string& cache,
                                    const FileProgress& progress);

}  // namespace feedrate
