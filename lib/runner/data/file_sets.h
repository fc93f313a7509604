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

// The same items in a container below `cache`:
//   files     `set` itself
//   shards    tar files, as WebDataset reads them
//   tfrecord  TFRecord files of tf.train.Example, with the feature
//             `image/encoded`
//   parquet   Parquet files with the column `image`
//   arrays    one .npy array of decoded pixels per image
//   lmdb      one LMDB file, with numbers of ten digits as keys
// Writes missing files, each at once as a whole. The encoded bytes of an item
// are the same in each container but `arrays`. InvalidArgument for another
// name, a set of shards, or a file that the container cannot have.
absl::StatusOr<FileSet> WriteContainer(const FileSet& set,
                                       const std::string& container,
                                       const std::string& cache,
                                       const FileProgress& progress);

}  // namespace feedrate
