// Batches of frames of episodes, drawn by weight from many data sets by the
// loader of lib/loader/mixture.
#ifndef FEEDRATE_LIB_MODEL_WORKER_MIXTURE_BATCHES_H_
#define FEEDRATE_LIB_MODEL_WORKER_MIXTURE_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/torch/batches.h"
#include "lib/model/worker/image_files.h"

namespace feedrate {

struct MixtureBatchOptions {
  // Of a mixture: docs/mixture.md.
  std::string folder;
  // Settings of `mixture` as NAME=VALUE with ; between, such as
  // `queue_depth=8;metadata=full`. What is left out has its default.
  std::string settings;
  // Frames, two of each sample: an even number.
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int64_t classes = 0;
  uint64_t seed = 0;
};

struct MixtureFeed {
  std::unique_ptr<BatchSource> batches;
  // What it reads; labels are the numbers of data sets.
  std::vector<ImageFile> shards;
};

// Both frames of a pair are images, their data set's number is the class.
// Prefetches while a step runs. std::runtime_error names a setting that cannot
// be meant, or what is wrong with the data.
MixtureFeed MakeMixtureBatches(const MixtureBatchOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_MIXTURE_BATCHES_H_
