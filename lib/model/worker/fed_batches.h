#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/torch/batches.h"
#include "lib/model/worker/image_files.h"

namespace feedrate {

// Batches that another library's loader makes in a process of its own and
// passes in shared memory.
//
// The process (lib/adapters/python/feed.py) gets the list of files and some
// slots of memory, each the size of a batch: float32 images, batch x 3 x side x
// side, and after all slots the index of each image in the list, as int64. It
// says `slot N` when slot N is full, and is told `N` when it may fill that slot
// again. It says `error TEXT` and exits when it cannot continue. A loader that
// makes images on the GPU puts them into slots in the GPU's memory, which it
// opens by a handle of CUDA; the shared memory then has the indices only.

struct FeederOptions {
  // Program and first arguments, such as a Python and its script.
  std::vector<std::string> command;
  // The library, passed to the process.
  std::string loader;
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int workers = 1;
  uint64_t seed = 0;
  // Steps after the crop, as configs/transforms/ has them for the library.
  // Empty: a flip.
  std::vector<std::string> recipe;
  // Whether DALI's decoder crops: `0`, `1`, or empty for where it can.
  std::string fused_decode;
  // Number of batches that may be made ahead.
  int slots = 4;
  // Whether the training runs on the current GPU: slots are pinned, so that the
  // copy of a batch is as fast as the bus.
  bool to_gpu = false;
  // Whether slots are in the memory of that GPU.
  bool on_gpu = false;
};

// Starts the process, which ends with the returned object. A batch is valid
// until the next call of Get. std::runtime_error if the process cannot be
// started; from Get, if it exited or reported an error.
std::unique_ptr<BatchSource> MakeFedBatches(const std::vector<ImageFile>& files,
                                            const FeederOptions& options);

}  // namespace feedrate
