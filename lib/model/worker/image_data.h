// The images of a training, wherever they are: in a folder, in tar shards, or
// in an object store.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/source.h"
#include "lib/model/worker/image_files.h"

namespace feedrate {

struct ImageData {
  // Those of this process. In a shard, paths are SHARD:MEMBER, and folders
  // those of members.
  std::vector<ImageFile> files;
  // Names of the classes by number, of all processes. Empty if no image is in a
  // subfolder, or `.cls` members have the numbers.
  std::vector<std::string> classes;
  // What a training says of shards and stores: ", ignored 3, classes in turn",
  // which are made up. Empty for folders, of which the runner says it.
  std::string note;
  // Paths with the name of an image that are not regular files.
  std::vector<std::string> special;
  // Files on this machine that have the images. Empty for a store.
  std::vector<ImageFile> local;
  // Reads `files`, item by item.
  std::unique_ptr<Source> source;
};

// `store` has the fields of PrintStoreSpec (lib/storage/object_store.h); then
// images are read from there. Otherwise folder.path is a folder of images, or
// tar shards in WebDataset naming: a folder of them, one, or several as
// shard-{000..099}.tar. Shards and stores have the same classes as folders,
// unless `.cls` members have numbers. Lists everything, reads no image.
// InvalidArgument names an image whose class is none of the model's, or the
// store and what is wrong with it.
absl::StatusOr<ImageData> OpenImageData(
    const ImageFolder& folder, const std::map<std::string, std::string>& store);

}  // namespace feedrate
