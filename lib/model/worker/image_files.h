// The image files of a folder that a training reads, and how fast they can be
// read.
#ifndef FEEDRATE_LIB_MODEL_WORKER_IMAGE_FILES_H_
#define FEEDRATE_LIB_MODEL_WORKER_IMAGE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

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
  // Each folder is a class. If all files are in one folder, classes are
  // assigned in turn.
  int64_t label = 0;
};

// Sorted by path, including subfolders. Empty if the folder does not exist.
std::vector<ImageFile> ListImages(const ImageFolder& folder);

// Describes the storage: file system, speed of reading the first files just
// now, and how much of them was in the page cache before. Example: `ext4, 1200
// MB/s, 0% cached`.
std::string StorageLabel(const std::string& folder,
                         const std::vector<ImageFile>& files);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_IMAGE_FILES_H_
