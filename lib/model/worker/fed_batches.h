// Batches of images that a loader of another library makes in a process of its
// own and hands over in shared memory.
//
// The process (lib/adapters/python/feed.py) gets the list of files and some
// slots of memory, each as large as a batch: float32 images, batch x 3 x side x
// side, and behind all slots the number of each image in the list, as int64. It
// says `slot N` when N is full and is told `N` when it may fill that again; it
// says `error TEXT` and ends when it cannot go on.
#ifndef FEEDRATE_LIB_MODEL_WORKER_FED_BATCHES_H_
#define FEEDRATE_LIB_MODEL_WORKER_FED_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/torch/batches.h"
#include "lib/model/worker/image_files.h"

namespace feedrate {

struct FeederOptions {
  // Program and first words, such as a Python and its script.
  std::vector<std::string> command;
  // Of which library: a word of the process.
  std::string loader;
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int workers = 1;
  uint64_t seed = 0;
  // Batches that may be made ahead.
  int slots = 4;
};

// Starts the process, which ends with what is returned. A batch is valid until
// the next one is asked for. std::runtime_error when it cannot be started, or,
// of Get, when it ended or said that it cannot go on.
std::unique_ptr<BatchSource> MakeFedBatches(const std::vector<ImageFile>& files,
                                            const FeederOptions& options);

}  // namespace feedrate

#endif  // FEEDRATE_LIB_MODEL_WORKER_FED_BATCHES_H_
