// The folder of one data set of episodes: its shards, and what its features are
// called.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "lib/loader/mixture/mixture_spec.h"

namespace feedrate {

inline constexpr char kMixtureFileName[] = "mixture.textproto";
inline constexpr char kTrainSplit[] = "train";

// Reads the shards of `folder` (files that end in .tfrecord or .tfrecords, or
// have it before `-`, sorted by name), and the names of its features if
// tensorflow-datasets or LeRobot wrote it: features.json, of several versions
// the newest, or meta/info.json. No shards are no error.
absl::Status ReadDatasetFolder(const std::string& folder,
                               const std::string& split, MixtureSource* source);

// True if `folder` is that of a data set, and not of several: it has
// meta/info.json, a shard, features.json, or that in a folder named by a
// version such as 1.0.0.
bool IsDatasetFolder(const std::string& folder);
// The name of a data set in that folder: the folder's, above its version.
std::string DatasetNameOf(const std::string& folder);

}  // namespace feedrate
