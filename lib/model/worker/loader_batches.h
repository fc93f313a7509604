// Training batches from disk: by the loader of lib/loader, by another library's
// loader in a process of its own, or by the mixture loader.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/model/torch/batches.h"
#include "lib/model/worker/image_files.h"

namespace feedrate {

struct LoaderBatchOptions {
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int workers = 1;
  uint64_t seed = 0;
  // Whether batches are copied to the current GPU ahead of time.
  bool to_gpu = false;
};

// Batches from the loader of lib/loader in this process: random crops, flips
// and normalization, in a new order each epoch, without incomplete last
// batches. Prefetches while a step runs. std::runtime_error if the loader
// fails. REQUIRES: at least one full batch.
std::unique_ptr<BatchSource> MakeLoaderBatches(
    const std::vector<ImageFile>& files, const LoaderBatchOptions& options);

// The same by the loader of lib/loader/cuda, which also decodes on the current
// GPU and leaves batches there. std::runtime_error without --config=cuda.
std::unique_ptr<BatchSource> MakeGpuBatches(const std::vector<ImageFile>& files,
                                            const LoaderBatchOptions& options);

// Passes each usable image once to `use`, in order, in batches of at most
// `batch_size`: center crops, normalized. The images are valid during the call.
// Returns those that cannot be used. std::runtime_error if the loader fails.
SkippedFiles ForEachImageBatch(
    const LabeledImages& images, const LoaderBatchOptions& options,
    const std::function<void(const TrainBatch&)>& use);

// Batches that another library's loader makes in a process of its own and
// passes in shared memory.
//
// The process (lib/adapters/python/feed.py) gets the list of files and some
// slots of memory, each the size of a batch: float32 images, batch x 3 x side x
// side, and after all slots the index of each image in the list, as int64. It
// says `slot N` when slot N is full, and is told `N` when it may fill that slot
// again. It says `error TEXT` and exits when it cannot continue.

struct FeederOptions {
  // Program and first arguments, such as a Python and its script.
  std::vector<std::string> command;
  // The library, passed to the process.
  std::string loader;
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int workers = 1;
  uint64_t seed = 0;
  // Number of batches that may be made ahead.
  int slots = 4;
};

// Starts the process, which ends with the returned object. A batch is valid
// until the next call of Get. std::runtime_error if the process cannot be
// started; from Get, if it exited or reported an error.
std::unique_ptr<BatchSource> MakeFedBatches(const std::vector<ImageFile>& files,
                                            const FeederOptions& options);

struct MixtureBatchOptions {
  // Folder of a mixture: docs/mixture.md.
  std::string folder;
  // Settings of `mixture` as NAME=VALUE separated by semicolons, such as
  // `queue_depth=8;metadata=full`. Omitted ones have their defaults.
  std::string settings;
  // Number of frames, two per sample: must be even.
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int64_t classes = 0;
  uint64_t seed = 0;
};

struct MixtureFeed {
  std::unique_ptr<BatchSource> batches;
  // The shards that it reads. Labels are the numbers of data sets.
  std::vector<ImageFile> shards;
};

// Frames of episodes, drawn by weight from many data sets by
// lib/loader/mixture. Both frames of a pair are images; the number of their
// data set is the class. Prefetches while a step runs. std::runtime_error names
// an invalid setting, or what is wrong with the data.
MixtureFeed MakeMixtureBatches(const MixtureBatchOptions& options);

}  // namespace feedrate
