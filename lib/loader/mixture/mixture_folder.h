// A mixture on disk: a folder with one folder of TFRecord shards for each data
// set, and mixture.textproto with their weights.
#ifndef FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_FOLDER_H_
#define FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lib/worker/loader_message.h"

namespace feedrate {

inline constexpr char kMixtureFileName[] = "mixture.textproto";

struct DatasetEntry {
  std::string name;
  double weight = 1;
};

// Writes `folder`/mixture.textproto.
absl::Status WriteMixtureFile(const std::string& folder,
                              const std::vector<DatasetEntry>& entries);

// The data sets of `folder`, weights as they stand there, shards (files that
// end in .tfrecord or .tfrecords, or have it before `-`) by sorted name.
// Without the file every folder with a shard is a data set of weight 1, by
// sorted name. A data set may have no shards and any weight: who mixes decides
// what that means. NotFound when there is none at all.
absl::StatusOr<std::vector<MixtureSource>> ReadMixtureFolder(
    const std::string& folder);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_LOADER_MIXTURE_MIXTURE_FOLDER_H_
