// Training batches from disk: by the loaders of lib/loader and lib/loader/cuda,
// or by the mixture loader. fed_batches.h has those of other libraries.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/loader/source.h"
#include "lib/model/torch/batches.h"
#include "lib/model/worker/image_files.h"

namespace feedrate {

struct LoaderBatchOptions {
  int64_t batch_size = 0;
  int64_t image_size = 0;
  int workers = 1;
  // Steps after the crop, as params of kStepsOp (lib/loader/recipe.h) or of
  // that of the GPU's loader. Empty: a flip.
  std::vector<std::string> recipe;
  // Batches in memory, including that of the step; 0: as many as usual.
  int prefetch = 0;
  uint64_t seed = 0;
  // Whether batches are copied to the current GPU ahead of time.
  bool to_gpu = false;
  // This process among those that train together. Each step has the samples
  // that one process with `world_size` times the batch would have.
  int rank = 0;
  int world_size = 1;
  // BatchSource::Position of an interrupted training with the same files and
  // seed. Empty: from the beginning.
  std::vector<int64_t> position;
};

// Batches from the loader of lib/loader in this process: random crops, flips
// and normalization, in a new order each epoch, without incomplete last
// batches. Prefetches while a step runs. std::runtime_error if the loader
// fails. REQUIRES: at least one full batch in each process; `source` has the
// items `files`, the same in all processes.
std::unique_ptr<BatchSource> MakeLoaderBatches(
    const std::vector<ImageFile>& files, std::unique_ptr<Source> source,
    const LoaderBatchOptions& options);

// The same by the loader of lib/loader/cuda, which also decodes on the current
// GPU and leaves batches there. std::runtime_error without --config=cuda.
std::unique_ptr<BatchSource> MakeGpuBatches(const std::vector<ImageFile>& files,
                                            std::unique_ptr<Source> source,
                                            const LoaderBatchOptions& options);

// Passes each usable image once to `use`, in order, in batches of at most
// `batch_size`: center crops, normalized. The images are valid during the call.
// Returns those that cannot be used. std::runtime_error if the loader fails.
SkippedFiles ForEachImageBatch(
    const LabeledImages& images, const LoaderBatchOptions& options,
    const std::function<void(const TrainBatch&)>& use);

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
  // As in LoaderBatchOptions.
  std::vector<int64_t> position;
};

// The shards of a mixture. Labels are the numbers of data sets.
std::vector<ImageFile> ShardsOfMixture(const std::string& folder);

// Frames of episodes, drawn by weight from many data sets by
// lib/loader/mixture. Both frames of a pair are images; the number of their
// data set is the class. Prefetches while a step runs. std::runtime_error names
// an invalid setting, or what is wrong with the data.
std::unique_ptr<BatchSource> MakeMixtureBatches(
    const MixtureBatchOptions& options);

}  // namespace feedrate
