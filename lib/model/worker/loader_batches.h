// Batches of images from disk, made by the loader of lib/loader in this
// process.
#ifndef FEEDRATE_LIB_MODEL_WORKER_LOADER_BATCHES_H_
#define FEEDRATE_LIB_MODEL_WORKER_LOADER_BATCHES_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/model/torch/batches.h"
#include "lib/model/worker/image_files.h"

namespace feedrate {

struct LoaderBatchOptions {
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int workers = 1;
  uint64_t seed = 0;
};

// Random crops, flips, normalisation; epoch after epoch in an order that is
// drawn anew, last batches that are not full left out. Prefetches while a step
// runs. std::runtime_error when the loader fails. REQUIRES: at least a batch.
std::unique_ptr<BatchSource> MakeLoaderBatches(
    const std::vector<ImageFile>& files, const LoaderBatchOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_LOADER_BATCHES_H_
