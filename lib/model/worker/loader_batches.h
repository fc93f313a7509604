// Batches of images from disk, made by the loader of lib/loader.
#ifndef FEEDRATE_LIB_MODEL_WORKER_LOADER_BATCHES_H_
#define FEEDRATE_LIB_MODEL_WORKER_LOADER_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "lib/model/torch/batches.h"

namespace feedrate {

struct LoaderBatchOptions {
  // A folder of images. A folder below it is a class; without any, classes go
  // round.
  std::string folder;
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int64_t classes = 0;
  int workers = 1;
  uint64_t seed = 0;
  // Share of the files that is used, above 0 and at most 1.
  double sample_ratio = 1;
  // This process takes each world_size-th file.
  int rank = 0;
  int world_size = 1;
};

struct LoaderBatches {
  std::unique_ptr<BatchSource> batches;
  int64_t files = 0;
  int64_t bytes = 0;
  // Where the files are and how fast they were read just before, such as
  // `ext4, 1200 MB/s`.
  std::string storage;
};

// Random crops, flips, normalisation; epoch after epoch, last batches that are
// not full left out. Prefetches while a step runs. std::runtime_error when the
// folder holds less than a batch, or the loader fails.
LoaderBatches MakeLoaderBatches(const LoaderBatchOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_LOADER_BATCHES_H_
