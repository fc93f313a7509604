// The images of a folder that a training reads, and how fast they can be read.
#ifndef FEEDRATE_LIB_MODEL_WORKER_IMAGE_FILES_H_
#define FEEDRATE_LIB_MODEL_WORKER_IMAGE_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace feedrate {

struct ImageFolder {
  std::string path;
  // Share of the files that is used, above 0 and at most 1.
  double sample_ratio = 1;
  int64_t classes = 1;
  // This process takes each world_size-th file.
  int rank = 0;
  int world_size = 1;
};

struct ImageFile {
  std::string path;
  int64_t bytes = 0;
  // A folder is a class; where all files are in one, classes go round.
  int64_t label = 0;
};

// By sorted path, folders below included. Empty when there is no such folder.
std::vector<ImageFile> ListImages(const ImageFolder& folder);

// Where they are, how fast the first of them were read just now, and how much
// of those the kernel had in memory before: `ext4, 1200 MB/s, 0% cached`.
std::string StorageLabel(const std::string& folder,
                         const std::vector<ImageFile>& files);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_IMAGE_FILES_H_
