// The image files of a folder that a training reads, and how fast they can be
// read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "lib/loader/source.h"
#include "lib/loader/source/data_folder.h"

namespace feedrate {

// What a loader returns, for code that throws: std::runtime_error
// "loader: MESSAGE" unless it is ok.
inline void CheckLoader(const absl::Status& status) {
  if (status.ok()) return;
  throw std::runtime_error("loader: " + std::string(status.message()));
}
template <typename T>
T LoaderValue(absl::StatusOr<T> value) {
  CheckLoader(value.status());
  return *std::move(value);
}

struct ImageFolder {
  std::string path;
  // Share of the files to use, above 0 and at most 1.
  double sample_ratio = 1;
  int64_t classes = 1;
  // This process takes every world_size-th file.
  int rank = 0;
  int world_size = 1;
};

struct ImageFile {
  std::string path;
  int64_t bytes = 0;
  // Number of its class. If all files are in one folder, classes are assigned
  // in turn.
  int64_t label = 0;
  // Path of its folder below the data set. Empty for the data set itself.
  std::string folder;
};

struct ImageList {
  // Those of this process, sorted by path, including subfolders.
  std::vector<ImageFile> files;
  // Names of the classes by number, of all processes. Empty if all files are
  // directly in the folder.
  std::vector<std::string> classes;
  // Paths with the name of an image that are not regular files, such as a pipe
  // or a link that leads nowhere. Sorted.
  std::vector<std::string> special;
  LeftOut left_out;
};

// Lists a folder as torchvision's ImageFolder does (lib/loader/source/
// data_folder.h). Returns nothing if the folder does not exist. NotFound if a
// class has no images; InvalidArgument if there are more than folder.classes.
absl::StatusOr<ImageList> ListImages(const ImageFolder& folder);

// Sets the labels of all images of a data set that are below 0: by the first
// of their folders, of which `folders` is the list, if known. Returns the names
// of the classes. Images that are in no folder keep their labels. Errors are
// those of ListImages, and an image in no folder while others are in one.
absl::StatusOr<std::vector<std::string>> LabelImages(
    const ImageFolder& folder, const std::vector<std::string>& folders,
    std::vector<ImageFile>* all);

// This process's part of all files of a data set, which are in the order that
// every process has: a sample, and of that every world_size-th file. Labels
// below 0 become classes in turn. `kept` gets the numbers of the files.
std::vector<ImageFile> ShareOf(const ImageFolder& folder,
                               const std::vector<ImageFile>& all,
                               std::vector<int64_t>* kept);

// Whether the data set is tar shards: a tar file, or a folder that has tar
// files and no images.
bool IsShards(const std::string& path);

// The tar file that `path` is, or those directly in it, sorted.
std::vector<std::string> ShardsOf(const std::string& path);

// InvalidArgument, with the name of the image, unless the number that its
// `.cls` member has is one of the model's `classes`.
absl::Status CheckLabel(const std::string& name, int64_t label,
                        int64_t classes);

// Reads the files one by one.
std::unique_ptr<Source> SourceOf(const std::vector<ImageFile>& files);

struct LabeledImages {
  // Tar files that hold the images. Empty: each image is a file of its own.
  std::vector<std::string> shards;
  // In shards, paths are SHARD:MEMBER, and folders the names of shards.
  std::vector<ImageFile> files;
  // Those of ImageList.
  std::vector<std::string> special;
  LeftOut left_out;
};

// The images of a labeled folder, which has a subfolder per class. Classes have
// the numbers of `names`, as ListImages gives them, or if it is empty, numbers
// in the order of their names. Or the images of tar shards in WebDataset
// naming, a file or all of a folder without images, whose `.cls` members are
// numbers of classes; these must be for one process. Errors begin with the
// place and say what to do: NotFound if there is nothing, or without `names` a
// class has no images; InvalidArgument if there are no images, or a class is
// none of the model's.
absl::StatusOr<LabeledImages> ListLabeledImages(
    const ImageFolder& folder, const std::vector<std::string>& names);

// Names of classes as lines of a checkpoint, and back: `class.N` with spaces
// and control characters escaped.
std::map<std::string, std::string> MetaOfClasses(
    const std::vector<std::string>& names);
std::vector<std::string> ClassesOfMeta(
    const std::map<std::string, std::string>& meta);

// Brings the page cache into the same state whatever was read before: without
// `cold` reads all files once if they fit into half of the available memory,
// otherwise drops them. `resident` gets the share of their pages that is in
// memory then, or -1 if the kernel does not tell. Returns a description: file
// system, speed of reading the first files just now, and `resident`. Example:
// `ext4, 1200 MB/s, 100% cached`. Calls `alive` now and then, because reading
// may take minutes.
std::string PrepareStorage(const std::string& folder,
                           const std::vector<ImageFile>& files, bool cold,
                           const std::function<void()>& alive,
                           double* resident);

}  // namespace feedrate
